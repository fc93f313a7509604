#!/bin/bash
# Every cell of micro that Pillow and AlbumentationsX have, with the versions of
# the set `paper`, and that plain_timing.py does the same work.
# torch_cells_test.sh has the other two libraries.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for group in pillow albumentationsx; do
  env="$("$REPO_ROOT/dev/python_env.sh" \
    "$REPO_ROOT/configs/requirements/paper/$group.lock")"
  for test in cells_test plain_timing_test; do
    "$env/bin/python" -B "$REPO_ROOT/lib/adapters/python/$test.py" \
      --configs="$REPO_ROOT/configs" "$group"
  done
done
