#!/bin/bash
# Bazel with the disk cache in the user's cache, so that a new checkout builds in
# seconds, and with JOBS as the number of jobs. Anything else is passed on:
#
#   JOBS=2 dev/bazel.sh test //lib/...
#
# A flag here and not in .bazelrc, where the path cannot depend on the user.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cd "$REPO_ROOT"
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
