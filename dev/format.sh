#!/bin/bash
# Formats all files that have a formatter. --check changes nothing, and fails if
# something would change.
#
# C++, CUDA and proto: clang-format. Python: ruff. BUILD and .bzl: buildifier if
# it is in PATH. Neither Debian nor PyPI has it, so --check does not use it, and
# dev/check_build_files.py checks the conventions that matter.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

check=""
if [[ "${1:-}" == --check ]]; then check=1; fi
ruff="$(dev/python_env.sh dev/locks/requirements.lock)/bin/ruff"

mapfile -t cpp < <(repo_files '*.cc' '*.h' '*.cu' '*.cuh' '*.proto')
mapfile -t python < <(repo_files '*.py')
mapfile -t starlark < <(repo_files '*BUILD' '*.bzl' WORKSPACE MODULE.bazel)

if [[ -n "$check" ]]; then
  status=0
  if [[ ${#cpp[@]} -gt 0 ]]; then
    clang-format --dry-run -Werror "${cpp[@]}" || status=1
  fi
  "$ruff" format --quiet --diff "${python[@]}" || status=1
  if [[ "$status" -ne 0 ]]; then say "run: make format"; fi
  exit "$status"
fi
if [[ ${#cpp[@]} -gt 0 ]]; then clang-format -i "${cpp[@]}"; fi
"$ruff" format --quiet "${python[@]}"
if command -v buildifier >/dev/null; then
  buildifier "${starlark[@]}"
else
  say "no buildifier in PATH: BUILD files are left as they are"
fi
