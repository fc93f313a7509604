#!/bin/bash
# The real program from its command line: figures, formats, exit codes.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly FLOPS=tools/flops/flops

# run CODE ARGUMENT...: into $out and $err, with this exit code.
run() {
  local expected="$1" code=0
  shift
  out="$("$FLOPS" "$@" 2>"$TEST_TMPDIR/err")" || code=$?
  err="$(cat "$TEST_TMPDIR/err")"
  [[ "$code" == "$expected" ]] || fail "flops $*: exit $code, not $expected"
}

run 0 --model=vit5_small
for figure in 0.116 2.85 0.745 5.69 9.40 28.2; do
  grep -qw -- "$figure" <<<"$out" || fail "the table has no $figure"
done

run 0 --model=vit5_small --format=jsonl
grep -q '"record":"flops","model":"vit5_small","part":"total"' <<<"$out" ||
  fail "no total record"
total="$(grep '"part":"total"' <<<"$out" |
  sed 's/.*"forward_flops":\([0-9]*\).*/\1/')"
[[ "$total" == 9396977664 ]] || fail "total is $total"

run 0 --format=svg --output="$TEST_TMPDIR/scaling.svg"
grep -q '</svg>' "$TEST_TMPDIR/scaling.svg" || fail "no figure"
grep -q hyena "$TEST_TMPDIR/scaling.svg" || fail "no hyena in the figure"

run 1 --model=vit6_small
[[ "$err" == 'flops: --model: "vit6_small" is unknown; did you mean'* ]] ||
  fail "message: $err"
run 1 --lengths=12,x --model=hyena
run 1 --format=svg --model=vit5_small
run 1 --format=xml

finish
