#!/bin/bash
# Runs the real program and compares what it prints with testdata/goldens.cases.
# With UPDATE=1, outside of Bazel, it writes the goldens instead.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly TOOL="${AGGREGATE:-tools/aggregate/aggregate}"
readonly DATA=tools/aggregate/testdata
readonly ROWS="$DATA/rows.jsonl"
export FEEDRATE_CONFIGS=configs
tmp="${TEST_TMPDIR:-$(mktemp -d)}"

# golden NAME ARGS...: standard output is the golden, which stays in $tmp/NAME;
# the exit code is 0.
golden() {
  local name="$1"
  shift
  "$TOOL" "$@" >"$tmp/out" 2>"$tmp/err" || fail "aggregate $*: exit code $?"
  if [[ -n "${UPDATE:-}" ]]; then
    { echo "=== $name" && cat "$tmp/out"; } >>"$tmp/goldens.cases"
    cp "$tmp/out" "$tmp/$name"
  else
    awk -v name="$name" '/^=== / { is_it = $2 == name; next } is_it' \
      "$DATA/goldens.cases" >"$tmp/$name"
    diff -u "$tmp/$name" "$tmp/out" || fail "aggregate $* (see the difference above)"
  fi
}

# refuses CODE TEXT ARGS...: the exit code, and TEXT in the only line of stderr.
refuses() {
  local code="$1" text="$2"
  shift 2
  "$TOOL" "$@" >"$tmp/out" 2>"$tmp/err"
  local got=$?
  [[ $got -eq $code ]] || fail "aggregate $*: exit code $got, expected $code"
  grep -qF -e "$text" "$tmp/err" ||
    fail "aggregate $*: no '$text' in: $(cat "$tmp/err")"
  [[ ! -s "$tmp/out" ]] || fail "aggregate $*: wrote to standard output"
}

by=--by=transform,library
golden table.golden.txt $by "$ROWS"
golden color.golden.txt $by --color=always "$ROWS"
golden speed_up.golden.txt $by --relative-to=opencv "$ROWS"
golden any_work.golden.txt $by --relative-to=opencv --any-work --sort=-ratio \
  "$ROWS"
golden pivot.golden.md $by --pivot=library --format=markdown "$ROWS"
golden plain.golden.md $by --format=markdown "$ROWS"
golden plain.golden.csv $by --format=csv --relative_to=opencv "$ROWS"
golden pivot.golden.csv $by --pivot=library --format=csv "$ROWS"
golden pivot.golden.tex $by --pivot=library --format=latex "$ROWS"
golden plain.golden.tex $by --format=latex --relative_to=opencv "$ROWS"
golden plain.golden.json $by --format=json --relative_to=opencv "$ROWS"
golden plain.golden.jsonl $by --format=jsonl --relative_to=opencv "$ROWS"
golden pivot_ratio.golden.tex $by --pivot=library --format=latex \
  --relative_to=opencv "$ROWS"
golden metric.golden.txt $by --metric=elapsed_s "$ROWS"
golden mix.golden.txt --by=library --mix=transform "$ROWS"
golden where.golden.txt --by=library --where='transform=="HorizontalFlip"' \
  --sort=-median "$ROWS"
"$TOOL" $by --runs-needed --where='transform=="RandomSnow"' "$ROWS" >"$tmp/out" \
  2>"$tmp/err" || fail "--runs-needed without jobs: exit code $?"
[[ ! -s "$tmp/out" ]] || fail "--runs-needed: $(cat "$tmp/out")"
grep -q 'more runs would separate no two libraries' "$tmp/err" ||
  fail "--runs-needed says nothing: $(cat "$tmp/err")"
golden runs_needed.golden.jsonl $by --runs-needed --where='run_index < 1' "$ROWS"
golden import.golden.txt --by=transform,library,machine_profile \
  --import=albumentations "$ROWS" "$DATA/public"

# Results of other harnesses, as a file, a pipe and a folder.
readonly IMPORTS=lib/imports/testdata
golden imports.golden.txt --by=transform,settings --metric=p50_s \
  "$IMPORTS/google_benchmark.json"
"$TOOL" --by=transform,settings --metric=p50_s <"$IMPORTS/google_benchmark.json" \
  >"$tmp/stdin" 2>/dev/null
cmp "$tmp/imports.golden.txt" "$tmp/stdin" || fail "results from a file as input"
# shellcheck disable=SC2002  # A pipe is what is tried.
cat "$IMPORTS/google_benchmark.json" |
  "$TOOL" --by=transform,settings --metric=p50_s >"$tmp/pipe" 2>/dev/null
cmp "$tmp/imports.golden.txt" "$tmp/pipe" || fail "results from a pipe"
golden criterion.golden.txt --by=transform,library,settings "$IMPORTS/criterion"
golden go.golden.csv --by=transform,settings --metric=counters.B_per_op \
  --format=csv "$IMPORTS/go.txt"
[[ -z "${UPDATE:-}" ]] || cp "$tmp/goldens.cases" "$DATA/goldens.cases"

# The torn last line is named, and nothing else is.
"$TOOL" $by "$ROWS" 2>&1 >/dev/null |
  grep -qx "aggregate: $ROWS:[0-9]*: skipped the torn last line" ||
  fail "the torn line is not named"

# A pipe, a folder and a file give the same.
"$TOOL" $by "$ROWS" >"$tmp/file" 2>/dev/null
"$TOOL" $by <"$ROWS" >"$tmp/stdin" 2>/dev/null
mkdir -p "$tmp/folder/below"
head -5 "$ROWS" >"$tmp/folder/b.jsonl"
tail -n +6 "$ROWS" >"$tmp/folder/below/a.jsonl"
"$TOOL" $by "$tmp/folder" >"$tmp/folder.out" 2>/dev/null
"$TOOL" $by "$tmp/folder/below" "$tmp/folder/b.jsonl" >"$tmp/turned" 2>/dev/null
"$TOOL" $by --output="$tmp/output" "$ROWS" 2>/dev/null
for other in stdin folder.out turned output; do
  cmp "$tmp/file" "$tmp/$other" || fail "$other differs from the file"
done

sed 's/"machine_profile":"xeon/"machine_profile":"other/;s/,"run_index":\(.\)/,"run_index":9\1/' \
  "$ROWS" >"$tmp/other.jsonl"
refuses 1 "would mix machine_profile" $by "$ROWS" "$tmp/other.jsonl"
"$TOOL" $by --mix=machine_profile "$ROWS" "$tmp/other.jsonl" >/dev/null \
  2>&1 || fail "--mix is not enough"
refuses 1 'did you mean "library"' --by=librery "$ROWS"
refuses 1 "--where: column 1: unknown field" --where='statsu=="ok"' "$ROWS"
refuses 1 'unknown field "warnings.noissy"; did you mean "noisy"' \
  --where='!warnings.noissy' "$ROWS"
refuses 1 '--by: no row has settings.prefetchh' \
  --by=library,transform,settings.prefetchh "$ROWS"
refuses 5 "--where leaves none" --where='library=="none"' "$ROWS"
refuses 1 'did you mean "latex"' --format=latx "$ROWS"
refuses 1 '--color: "alway" is unknown; did you mean "always"' --color=alway "$ROWS"
refuses 1 'did you mean "opencv"' $by --relative_to=opencw "$ROWS"
refuses 1 'did you mean "loader.gpu.busy"' --metric=loader.gpu.bsy "$ROWS"
refuses 1 "would mix transform" --by=library "$ROWS"
sed 's/"unit":"image"/"unit":"clip"/;s/"library":"opencv"/"library":"other"/' "$ROWS" >"$tmp/clips.jsonl"
refuses 1 "a CSV table has one unit" $by --pivot=library --format=csv "$ROWS" \
  "$tmp/clips.jsonl"
refuses 1 "is not in --by" --pivot=device $by "$ROWS"
refuses 1 "cannot open" "$tmp/none.jsonl"
refuses 5 "no row in the input" /dev/null
echo "[]" >"$tmp/bad.json"
refuses 1 "not a result file" --import=albumentations "$tmp/bad.json"
head -c 2000 "$IMPORTS/google_benchmark.json" >"$tmp/torn.json"
refuses 1 "torn.json: line" "$tmp/torn.json"
refuses 1 "counters.items_per_second" --metric=counters "$ROWS"
[[ "$("$TOOL" --help)" == *"--relative_to=BASE"* ]] || fail "--help"

finish
