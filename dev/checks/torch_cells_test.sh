#!/bin/bash
# Every cell of micro that torchvision and Kornia have, under both parameter
# profiles, with the versions of the set `paper`; and tests that only run in
# their environment. It is large: --full installs it, otherwise a machine
# without it skips this test.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lock="$REPO_ROOT/configs/requirements/paper/torch_stack.lock"
if [[ "${1:-}" == --full ]]; then
  env="$("$REPO_ROOT/dev/python_env.sh" "$lock")"
elif ! env="$("$REPO_ROOT/dev/python_env.sh" --made "$lock")"; then
  echo 'no environment of torch; make it with: make envs GROUPS=torch_stack'
  exit 77
fi
cd "$REPO_ROOT/lib/adapters/python"
"$env/bin/python" -B -m unittest libraries.torch_test \
  library_tests.train_worker_test
"$env/bin/python" -B -m library_tests.subject_libraries_test torchvision kornia
for test in plain_timing_test cells_test "cells_test --profile=matched"; do
  # shellcheck disable=SC2086  # A test and its flag.
  "$env/bin/python" -B -m library_tests.$test \
    --configs="$REPO_ROOT/configs" torchvision kornia
done
