#!/bin/bash
# Every cell of micro that Pillow and AlbumentationsX have, with the versions of
# the set `paper`. torch_cells_test.sh has the other two libraries.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for group in pillow albumentationsx; do
  env="$("$REPO_ROOT/dev/python_env.sh" \
    "$REPO_ROOT/configs/requirements/paper/$group.lock")"
  "$env/bin/python" -B "$REPO_ROOT/lib/adapters/python/cells_test.py" \
    --configs="$REPO_ROOT/configs" "$group"
done
