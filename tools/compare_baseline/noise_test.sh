#!/bin/bash
# The small version of bench_noise.py: real rows, half of them measured next to
# a load generator, raise no alarm against a stored baseline; and drawn rows
# keep both promises of docs/compare_baseline.md.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

export FEEDRATE_CONFIGS="$PWD/configs"
export XDG_CACHE_HOME="$TEST_TMPDIR/cache"
bench() {
  python3 tools/compare_baseline/bench_noise.py --micro=tools/micro/micro \
    --compare=tools/compare_baseline/compare_baseline "$@" >"$TEST_TMPDIR/out" 2>&1
}

bench --repeats=4 --slow=0 --jobs=10 --runs=3 --executions=2 --keep="$TEST_TMPDIR/rows" ||
  fail "noise raised an alarm: $(cat "$TEST_TMPDIR/out")"
cat "$TEST_TMPDIR/out"
grep -q '^| loaded | 0% | [2-4] | ' "$TEST_TMPDIR/out" || fail "nothing was measured under load"
grep -q '"warnings":\["[^]]*\(contended\|noisy\)' "$TEST_TMPDIR"/rows/loaded_*.jsonl ||
  fail "the load generator disturbed nothing"

bench --simulate --repeats=40 --slow=10 --runs=5 --slowdown=40 ||
  fail "drawn rows break a promise: $(cat "$TEST_TMPDIR/out")"
grep -q '^0 of 40 unchanged suites had a false alarm' "$TEST_TMPDIR/out" || fail "$(cat "$TEST_TMPDIR/out")"
# The check itself can fail: 1% is within the tolerance.
bench --simulate --repeats=0 --slow=10 --slowdown=1 &&
  fail "a slowdown of 1% counts as found: $(cat "$TEST_TMPDIR/out")"
cat "$TEST_TMPDIR/out"

finish
