#!/bin/bash
# The real program from its command line: rows, metrics, exit codes, with a
# stand-in for the process that trains.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly TRAIN=tools/train/train
export FEEDRATE_WORKERS="$TEST_TMPDIR/workers"
mkdir -p "$FEEDRATE_WORKERS"
cp tools/train/fake_worker.sh "$FEEDRATE_WORKERS/worker_train"
chmod +x "$FEEDRATE_WORKERS/worker_train"

# run CODE ARGUMENT...: into $out and $err, with this exit code.
run() {
  local expected="$1" code=0
  shift
  out="$("$TRAIN" "$@" 2>"$TEST_TMPDIR/err")" || code=$?
  err="$(cat "$TEST_TMPDIR/err")"
  [[ "$code" == "$expected" ]] || fail "train $*: exit $code: $err"
}

rows() { grep -c '"record":"row"' <<<"$out"; }
has() { [[ "$out" == *"$1"* ]] || fail "no $1 in the output"; }

run 0 --metrics="$TEST_TMPDIR/metrics.json"
[[ "$(rows)" == 1 ]] || fail "$(rows) rows"
[[ "$(head -n 1 <<<"$out")" == '{"schema":1,"record":"env"'* ]] || fail "env"
has '"record":"run"'
has '"status":"ok"'
has '"mode":"train"'
has '"train":{"model":"vit5_tiny"'
has '"matmul_types":{"fp32":3}'
has '"blas":"libtorch_cpu.so"'
grep -q '"step_time_p50": 0.2' "$TEST_TMPDIR/metrics.json" || fail "metrics"
[[ "$err" == *"1 rows (1 ok)"* ]] || fail "verdict: $err"

run 0 --num-runs=2 --sweep='batch_size=8,16'
[[ "$(rows)" == 4 ]] || fail "$(rows) rows of a sweep"

# A crash is a row.
run 0 --seed=13
has '"status":"crashed"'
has 'SIGSEGV'
run 3 --seed=13 --fail-on=crashed

# Batches double until memory is out, and the last row says what fits.
run 0 --find-batch-size --batch-size=16
[[ "$(rows)" == 4 ]] || fail "$(rows) rows on the way to out of memory"
has '"status":"oom","reason":"out of memory; largest that fits: 64"'
[[ "$err" == *"the largest batch that fits is 64"* ]] || fail "$err"

# Rows that are there are not measured again.
run 0 --output="$TEST_TMPDIR/rows.jsonl"
run 0 --output="$TEST_TMPDIR/rows.jsonl" --resume --num-runs=2
[[ "$(grep -c '"record":"row"' "$TEST_TMPDIR/rows.jsonl")" == 2 ]] ||
  fail "resume"
run 1 --output="$TEST_TMPDIR/rows.jsonl"

# Jobs out of a file.
echo '{"schema":1,"record":"job","job_id":"a","mode":"micro"}' \
  >"$TEST_TMPDIR/jobs.jsonl"
run 1 --jobs="$TEST_TMPDIR/jobs.jsonl"
[[ "$err" == *"mode micro"* ]] || fail "$err"

# A flag that would change nothing, or something else, is refused.
run 1 --dataset="$TEST_TMPDIR"
[[ "$err" == "train: --dataset: scope synthetic would not read"* ]] ||
  fail "$err"
printf '%s' '{"schema":1,"record":"job","job_id":"a","mode":"train",' \
  '"library":"feedrate","scope":"synthetic","device":"cpu","batch_size":4,' \
  '"run_indexes":[0]}' >"$TEST_TMPDIR/train_jobs.jsonl"
echo >>"$TEST_TMPDIR/train_jobs.jsonl"
run 0 --jobs=- --label=here <"$TEST_TMPDIR/train_jobs.jsonl"
for flag in --batch-size=8 --model=vit5_small --warmup-steps=1 --seed=3 \
  --world-size=2 --num-runs=2; do
  run 1 --jobs=- "$flag" <"$TEST_TMPDIR/train_jobs.jsonl"
  [[ "$err" == *"jobs are planned already"* ]] || fail "$flag: $err"
done

# A data set in a store is brought here for the run, and gone afterwards.
mkdir -p "$TEST_TMPDIR/far/c0" "$TEST_TMPDIR/far/c1"
echo first >"$TEST_TMPDIR/far/c0/a.jpg"
echo second >"$TEST_TMPDIR/far/c1/b.jpg"
run 0 --scope=e2e --loader=native --dataset="file://$TEST_TMPDIR/far" \
  --cache-dir="$TEST_TMPDIR/cache"
[[ "$err" == *"2 objects"* ]] || fail "not brought here: $err"
has '"status":"ok"'
[[ -z "$(ls -A "$TEST_TMPDIR/cache/tmp")" ]] || fail "files are left"
run 1 --scope=e2e --loader=native --dataset="file://$TEST_TMPDIR/none"
[[ "$err" == *"no folder"* ]] || fail "$err"

# A TMPDIR that is not there is no reason to abort.
TMPDIR=/nowhere run 0

run 1 --model=vit6
[[ "$err" == 'train: --model: "vit6" is unknown'* ]] || fail "$err"
run 1 --profile=chrome
run 1 --graphs
run 0 --help

# Away from every build tree there is no worker, and the remedy is named.
mkdir -p "$TEST_TMPDIR/alone/tools/train"
cp -L "$TRAIN" "$TEST_TMPDIR/alone/tools/train/train"
err="$(FEEDRATE_WORKERS=/nowhere "$TEST_TMPDIR/alone/tools/train/train" \
  --configs=configs 2>&1)" && fail "found a worker in nowhere"
[[ "$err" == *"make torch"* ]] || fail "no remedy: $err"

finish
