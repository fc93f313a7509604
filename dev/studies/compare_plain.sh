#!/bin/bash
# How well the Python workers' timings agree with a plain script, library by
# library; exit 3 where a median is off by more than 10%. For an idle machine;
# needs the environments (make envs). More flags: lib/adapters/python/
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
