#!/bin/bash
# Runs Bazel with a disk cache in the user's cache folder, so that a new
# checkout builds in seconds, and with JOBS as the number of jobs:
#
#   JOBS=2 dev/bazel.sh test //lib/...
#
# The cache is not set in .bazelrc, because a path there cannot depend on the
# user.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cd "$REPO_ROOT"
# Repositories that describe this machine are made again when one of these changes,
# though Bazel's server has been running since before: third_party/system reads the
# first, third_party/torch the second.
FEEDRATE_PACKAGES="$(stat -c %y /var/lib/dpkg/status 2>/dev/null || true)"
FEEDRATE_LIBTORCH="$(stat -c %y "$FEEDRATE_CACHE/libtorch" \
  "$FEEDRATE_CACHE/venvs" 2>/dev/null || true)"
export FEEDRATE_PACKAGES FEEDRATE_LIBTORCH
# Without a locale, as on a bare machine, the server crashes when it deletes a
# sandbox in which a test has left a name that is not ASCII.
export LC_ALL=C.UTF-8
command="${1:?usage: bazel.sh COMMAND [ARGUMENT...]}"
shift
flags=()
case "$command" in
  build | test | run | cquery | aquery)
    flags+=("--disk_cache=$FEEDRATE_CACHE/bazel")
    if [[ -n "${JOBS:-}" ]]; then
      flags+=("--jobs=$JOBS" "--local_test_jobs=$JOBS")
    fi
    ;;
esac
exec "${BAZEL:-bazel}" "$command" "${flags[@]}" "$@"
