#!/bin/bash
# Measures how long a newcomer waits, and how large the tree is. Clones HEAD,
# empties the caches (packages of the distribution stay installed) and measures
# `make demo` and, in another clone, `make test`. The unit is one reference
# compile on this machine: a file that includes only statusor.h and gtest.h.
#
#   dev/bench_build.sh           sizes, reference, make demo
#   dev/bench_build.sh --test    also make test
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

echo "files in git: $(git ls-files | wc -l)"
echo "lines in git: $(git grep -I -c '' | awk -F: '{n += $NF} END {print n}')" \
  "of text, $(git ls-files -z | xargs -0 cat | wc -l) with line feeds in binaries"
echo "C++ sources: $(git ls-files '*.cc' '*.cu' | wc -l)," \
  "headers: $(git ls-files '*.h' '*.cuh' | wc -l)"

# Median of five, with nothing else running.
reference() {
  printf '#include "absl/status/statusor.h"\n#include "gtest/gtest.h"\n' \
    >"$work/reference.cc"
  for _ in 1 2 3 4 5; do
    local start end
    start="$(date +%s%N)"
    g++ -std=c++17 -O2 -c "$work/reference.cc" -o "$work/reference.o"
    end="$(date +%s%N)"
    echo $(((end - start) / 1000000))
  done | sort -n | sed -n 3p
}
reference_ms="$(reference)"
echo "reference compile: $reference_ms ms ($(uname -m), $(nproc) cores)"

# measure TARGET: seconds of `make TARGET` from a clone, caches empty.
measure() {
  local clone="$work/$1" start seconds status=0
  git clone --quiet "$REPO_ROOT" "$clone"
  mkdir "$work/cache_$1"
  start="$(date +%s)"
  (cd "$clone" && XDG_CACHE_HOME="$work/cache_$1" make "$1") \
    >"$work/$1.log" 2>&1 || status=$?
  seconds=$(($(date +%s) - start))
  tail -n 12 "$work/$1.log"
  echo "make $1: $seconds s, $((seconds * 1000 / reference_ms)) reference" \
    "compiles, exit $status"
  (cd "$clone" && bazel shutdown && bazel clean --expunge) >/dev/null 2>&1 ||
    true
}
measure demo
if [[ "${1:-}" == --test ]]; then measure test; fi
