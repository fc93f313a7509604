#!/bin/bash
# Everything that must hold, ending with one line: "N passed, N failed". What is
# counted are Bazel's test targets, targets that do not build, and the checks
# below, which are no Bazel tests because they run Bazel, or look at files that
# no target owns.
#
#   dev/test.sh           what CI runs
#   dev/test.sh --full    also the long versions: FEEDRATE_FULL=1 in every test,
#                         sanitizers, fuzzers, the bundle in a bare Debian
#
# A check that exits with 77 was skipped: it says why and counts as neither.
set -uo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT" || exit 1

full=""
if [[ "${1:-}" == --full ]]; then full=1; fi
passed=0
failed=0
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

finish() {
  echo "$passed passed, $failed failed"
  if [[ "$failed" -gt 0 ]]; then exit 1; fi
  exit 0
}
trap 'failed=$((failed + 1)); finish' INT TERM

# bazel_tests FLAG...: all tests, without stopping at the first that fails.
bazel_tests() {
  local log="$work/bazel.log" counts
  dev/bazel.sh test --keep_going --test_summary=short "$@" //... 2>&1 |
    tee "$log"
  counts="$(python3 dev/count_tests.py "$log" "${PIPESTATUS[0]}")" ||
    counts="0 1"
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
}

# check NAME COMMAND...: one check; its output is shown where it did not pass.
check() {
  local name="$1" log="$work/check.log" status=0 started=$SECONDS
  shift
  "$@" >"$log" 2>&1 || status=$?
  case "$status" in
    0)
      passed=$((passed + 1))
      echo "PASSED $name ($((SECONDS - started)) s)"
      ;;
    77) echo "SKIPPED $name: $(tail -n 1 "$log")" ;;
    *)
      failed=$((failed + 1))
      cat "$log"
      echo "FAILED $name (exit $status)"
      ;;
  esac
}

if ! dev/setup.sh build dev ${full:+full}; then
  failed=1
  finish
fi

if [[ -n "$full" ]]; then
  bazel_tests --test_env=FEEDRATE_FULL=1 --test_timeout=3600
  for sanitizer in asan ubsan tsan; do
    echo "With --config=$sanitizer:"
    bazel_tests --config="$sanitizer"
  done
else
  bazel_tests
fi

check format dev/format.sh --check
check lint dev/lint.sh --fast
check layers dev/check_layers.py
for test in dev/*_test.py; do
  check "$test" dev/dev_python.sh "$test"
done
for test in dev/*_test.sh; do
  check "$test" "$test" ${full:+--full}
done
if [[ -n "$full" ]]; then
  check fuzz dev/fuzz.sh
fi
finish
