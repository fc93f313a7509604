#!/bin/bash
# Compares the Python workers' timings with those of a plain script, library by
# library. Exits with 3 if a median is off by more than 10%. Use an idle
# machine. Needs the environments (make envs). More flags: lib/adapters/python/
# compare_plain.py.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

status=0
compare() { # group library...
  local group="$1" env
  shift
  env="$("$REPO_ROOT/dev/python_env.sh" \
    "$REPO_ROOT/configs/requirements/paper/$group.lock")"
  "$env/bin/python" -B "$REPO_ROOT/lib/adapters/python/compare_plain.py" \
    --configs="$REPO_ROOT/configs" "$@" || status=$?
}
compare pillow "$@" pillow
compare albumentationsx "$@" albumentationsx
compare torch_stack "$@" torchvision kornia
exit "$status"
