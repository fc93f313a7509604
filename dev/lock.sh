#!/bin/bash
# Writes a lock file with hashes from a list of exact versions:
#
#   dev/lock.sh dev/requirements.in >dev/requirements.lock
#
# Every package is fetched for both processors and both Python versions that the
# project supports, so that one lock serves them all. The input names every
# package, those needed by others too (python_env.sh checks that none is missed).
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[[ $# -eq 1 ]] || die "usage: lock.sh REQUIREMENTS.in"
python_with_pip="$("$REPO_ROOT/dev/python_env.sh" \
  "$REPO_ROOT/dev/requirements.lock")/bin/python"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

echo "# Made by dev/lock.sh from $(basename "$1"); change that file instead."
grep -v -e '^#' -e '^$' "$1" | while IFS= read -r requirement; do
  rm -rf "${work:?}/"*
  for machine in x86_64 aarch64; do
    for python in 3.11 3.12; do
      "$python_with_pip" -m pip download --quiet --no-deps \
        --disable-pip-version-check --only-binary=:all: \
        --python-version "$python" \
        --platform "manylinux_2_28_$machine" \
        --platform "manylinux_2_25_$machine" \
        --platform "manylinux_2_17_$machine" \
        --platform "manylinux2014_$machine" \
        --dest "$work" "$requirement" ||
        die "$requirement: no wheel for $machine, Python $python"
    done
  done
  printf '%s' "$requirement"
  sha256sum "$work"/*.whl | cut -d' ' -f1 | sort -u |
    while read -r hash; do printf ' \\\n    --hash=sha256:%s' "$hash"; done
  echo
done
