#!/bin/bash
# Lint: shellcheck, ruff, #pragma once, names, what pages name, trust rules, lengths of
# files and BUILD conventions over everything, clang-tidy over the C++ files that differ
# from the main branch.
#
#   dev/lint.sh                all of it
#   dev/lint.sh --fast         without clang-tidy, which takes seconds per file
#   dev/lint.sh FILE.cc...     clang-tidy on these files
#
# LINT_BASE names another branch than main to compare with.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

# Every shell script: by name, or by its first line.
shell_scripts() {
  repo_files '*.sh' feedrate
  local first
  repo_files | grep -v '\.[^/]*$' | while IFS= read -r file; do
    first="$(head -c 64 "$file" | head -n 1 | tr -d '\0')"
    if [[ "$first" =~ ^#!.*sh$ ]]; then echo "$file"; fi
  done
}

# Sources that differ from LINT_BASE, committed or not.
changed_sources() {
  local base
  base="$(git merge-base HEAD "${LINT_BASE:-main}" 2>/dev/null)" || {
    echo "no ${LINT_BASE:-main}: clang-tidy reads only what is not committed" >&2
    base=HEAD
  }
  {
    git diff --name-only --diff-filter=d "$base" -- '*.cc'
    git ls-files --others --exclude-standard -- '*.cc'
  } | sort -u
}

tidy() {
  dev/compile_commands.sh
  printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -I{} \
    clang-tidy --quiet --warnings-as-errors='*' -p . {}
}

# Except in headers that are compiled themselves, where g++ warns about it.
check_pragma_once() {
  local without
  without="$(git grep --files-without-match '^#pragma once$' -- '*.h' '*.cuh' \
    ':!third_party/precompiled')" || return 0
  echo "use #pragma once, not include guards, in: ${without//$'\n'/ }" >&2
  return 1
}

# A number that nothing reads decides nothing. Notes and ranges are for the page
# docs/scope.md.
check_policy_fields() {
  local field unread
  unread="$(grep -oE '[a-z0-9_]+ = [0-9]+;' lib/config/policy.proto |
    cut -d ' ' -f 1 | sort -u | grep -vxE 'note|range' |
    grep -vxFf <(git grep -ohE '\b[a-z0-9_]+\(|"[a-z0-9_]+"' -- lib tools dev \
      ':!*_test.cc' ':!lib/catalogue/check_catalogue.cc' |
      sort -u | tr -d '"(' | sed 'p; s/^has_//; s/_size$//'))" || return 0
  for field in $unread; do
    echo "lib/config/policy.proto: nothing reads $field; remove it" >&2
  done
  return 1
}

# Every promise of docs/security.md names a test.
check_promises() {
  local line status=0
  while IFS= read -r line; do
    [[ "$line" =~ [a-z0-9_]+_(test|fuzz)\.(cc|py|sh) ]] || {
      echo "docs/security.md: no test in: $line" >&2
      status=1
    }
  done < <(sed -n '/^| promise | test |$/,/^$/p' docs/security.md |
    grep '^|' | grep -vxE '\| promise \| test \||\|---\|---\|')
  return "$status"
}

# A longer file has more than one subject, or says something twice.
check_lengths() {
  local line status=0
  while IFS= read -r line; do
    echo "${line##* }: has more than 600 lines; split it by subject" >&2
    status=1
  done < <(repo_files '*.cc' '*.h' '*.cu' '*.cuh' '*.py' '*.sh' | xargs wc -l |
    awk '$1 > 600 && $2 != "total" {print $2}')
  return "$status"
}

status=0
if [[ $# -eq 0 || "${1:-}" == --fast ]]; then
  env="$(dev/python_env.sh dev/locks/requirements.lock)"
  mapfile -t scripts < <(shell_scripts)
  shellcheck --external-sources "${scripts[@]}" || status=1
  mapfile -t python < <(repo_files '*.py')
  "$env/bin/ruff" check --quiet "${python[@]}" || status=1
  "$env/bin/python" -B dev/check_build_files.py || status=1
  "$env/bin/python" -B dev/check_names.py || status=1
  "$env/bin/python" -B dev/check_pages.py || status=1
  "$env/bin/python" -B dev/check_trust.py || status=1
  check_policy_fields || status=1
  check_promises || status=1
  check_pragma_once || status=1
  check_lengths || status=1
fi
if [[ "${1:-}" != --fast ]]; then
  mapfile -t sources < <(if [[ $# -gt 0 ]]; then
    printf '%s\n' "$@"
  else changed_sources; fi)
  if [[ ${#sources[@]} -gt 0 ]]; then tidy "${sources[@]}" || status=1; fi
fi
exit "$status"
