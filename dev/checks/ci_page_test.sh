#!/bin/bash
# Follows docs/import.md to the end: runs the printed commands of "Gate a C++
# project" and "Gate a Python project" in toy projects, with a pull request that
# makes a benchmark slower and with one that does not: the first for C++, the second
# for Python; --full takes both for each.
#
# Not a Bazel test, because pytest-benchmark comes from PyPI.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

env="$(dev/python_env.sh dev/locks/imports.lock)"
dev/bazel.sh build //tools/compare_baseline //tools/duel
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
cp -L bazel-bin/tools/{duel/duel,compare_baseline/compare_baseline} "$work/bin"
export PATH="$work/bin:$env/bin:$PATH" HOME="$work" FEEDRATE_CONFIGS="$REPO_ROOT/configs"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org \
  GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org

# commands HEADING: the shell block below a heading of the page.
commands() {
  awk -v heading="## $1" '$0 == heading { here = 1; next }
    here && /^## / { exit }
    here && /^```/ { inside = !inside; next }
    here && inside' docs/import.md
}

cpp_project() { # iterations of the loop
  cp -r "$REPO_ROOT/testdata/ci_project/." .
  sed -i "s/kLength = 2000/kLength = $1/" bench.cc
}

python_project() { # iterations of the loop
  mkdir -p benchmarks
  cat >benchmarks/test_loop.py <<PY
def test_loop(benchmark):
    benchmark.pedantic(lambda: sum(range($1)), rounds=20, iterations=10)
PY
  printf '__pycache__\n.pytest_cache\nbench.json\nrows.jsonl\nverdict.md\n' >.gitignore
}

# follow KIND HEADING BASE HEAD: the exit code of the page's commands in a pull
# request that changes the loop from BASE to HEAD iterations.
follow() {
  local folder="$work/$1_$4"
  mkdir -p "$folder/origin" && cd "$folder/origin"
  git init -q -b main
  "$1_project" "$3"
  git add . && git commit -qm base
  git clone -q . ../head && cd ../head
  git checkout -q -b change
  "$1_project" "$4"
  git commit -q -a --allow-empty -m change
  (cd "$REPO_ROOT" && commands "$2") >"$folder/commands.sh"
  local lines status=0
  lines="$(wc -l <"$folder/commands.sh")"
  [[ "$lines" -ge 4 && "$lines" -le 10 ]] ||
    die "docs/import.md, \"$2\": $lines lines of commands, not 4 to 10"
  bash -e "$folder/commands.sh" >"$folder/log" 2>&1 || status=$?
  [[ -s verdict.md ]] || { cat "$folder/log" && die "$1: no verdict"; }
  cat verdict.md
  cd "$REPO_ROOT"
  return "$status"
}

for kind in cpp python; do
  heading="Gate a C++ project with google/benchmark"
  if [[ $kind == python ]]; then
    heading="Gate a Python project with pytest-benchmark"
  fi
  if [[ $kind == cpp || "${1:-}" == --full ]]; then
    status=0
    follow $kind "$heading" 2000 6000 || status=$?
    [[ $status -eq 3 ]] || die "$kind: a benchmark that got slower is exit $status"
    say "$kind: 3 for a slower benchmark"
  fi
  if [[ $kind == python || "${1:-}" == --full ]]; then
    status=0
    follow $kind "$heading" 2000 2000 || status=$?
    # On a busy machine it may be that nothing can be told, never that it got
    # slower.
    [[ $status -eq 0 || $status -eq 4 ]] || die "$kind: no change is exit $status"
    say "$kind: $status without a change"
  fi
done
