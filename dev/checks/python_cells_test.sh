#!/bin/bash
# Every cell of micro that Pillow and AlbumentationsX have, under both parameter
# profiles, with the versions of the set `paper`; and that plain_timing.py does
# the same work. torch_cells_test.sh has the other two libraries.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cd "$REPO_ROOT/lib/adapters/python"
for group in pillow albumentationsx; do
  python="$("$REPO_ROOT/dev/python_env.sh" \
    "$REPO_ROOT/configs/requirements/paper/$group.lock")/bin/python"
  for test in plain_timing_test cells_test "cells_test --profile=matched"; do
    # shellcheck disable=SC2086  # A test and its flag.
    "$python" -B -m library_tests.$test --configs="$REPO_ROOT/configs" "$group"
  done
done
"$python" -B -m library_tests.subject_libraries_test albumentationsx
