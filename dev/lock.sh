#!/bin/bash
# Writes a lock file with hashes anew from the exact versions that its lines "#: "
# list. A new lock has only these lines at first.
#
#   dev/lock.sh dev/locks/requirements.lock
#
# Dependencies of the listed packages are resolved and pinned too. One lock
# serves both processors and both Python versions that the project supports; a
# package without a wheel for one processor gets a marker.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[[ $# -eq 1 ]] || die "usage: lock.sh FILE.lock"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# The distribution's pip would fetch whole wheels to learn their hashes.
"$FEEDRATE_PYTHON" -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check \
  pip==26.3
# For FFCV, which has no wheels.
export PKG_CONFIG_PATH="$REPO_ROOT/third_party/ffcv"
PIP_DISABLE_PIP_VERSION_CHECK=1 "$work/env/bin/python" -B \
  "$REPO_ROOT/dev/lock.py" "$1"
