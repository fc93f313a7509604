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
has '"energy":{"cpu_j":30,"gpu_j":12.5}'
grep -q '"step_time_p50": 0.2' "$TEST_TMPDIR/metrics.json" || fail "metrics"
[[ "$err" == *"1 row (1 ok) in "* ]] || fail "verdict: $err"
# The last line says what limits the step.
[[ "$(tail -n 1 <<<"$err")" == "train: feedrate vit5_tiny fp32 batch 32 is \
compute-bound: backward is 60.0% of the step, 1.5 times forward, mostly \
aten::mm (75.0% of it)" ]] || fail "conclusion: $err"
has '"bound_by":"compute"'
has '"kernels":[{"part":"backward","name":"aten::mm"'
[[ "$err" != *"longest kernels"* ]] || fail "a table nobody asked for: $err"
run 0 --profile=trace
[[ "$err" == *"1 longest kernels, mean of 3 profiled steps"* ]] || fail "$err"

# A training that diverged leaves no metrics that a gate could take.
run 2 --seed=15 --metrics="$TEST_TMPDIR/diverged.json"
has '"status":"diverged","reason":"the loss of step 7 is not a number"'
[[ "$out" != *last_loss* ]] || fail "a loss of a diverged training: $out"
[[ ! -e "$TEST_TMPDIR/diverged.json" ]] || fail "metrics of a diverged training"
run 3 --seed=15 --fail-on=diverged

# All digits of a number count.
run 0 --learning-rate=0.00012345678 --weight-decay=0.0001
has '"learning_rate":"0.00012345678'
has '"weight_decay":"0.0001"'

run 0 --num-runs=2 --sweep='batch_size=8,16'
[[ "$(rows)" == 4 ]] || fail "$(rows) rows of a sweep"

# Every optimization against any setting.
run 0 --sweep='batch_size=8,16' --relative-to=batch_size=8
[[ "$err" == *"batch_size  samples/s  speed-up"*"16"*"2.00x"* ]] || fail "$err"
run 1 --precision=fp8 --model=vit5_small
[[ "$err" == *'--precision: fp8 needs --device=cuda'* ]] || fail "$err"
run 1 --device=cuda:x
[[ "$err" == *'--device: "cuda:x" names no GPU'* ]] || fail "$err"

# A table instead of records, as in the other runners.
run 0 --format=table --sweep='batch_size=8,16'
[[ "$(rows)" == 0 ]] || fail "records in a table: $out"
[[ "$out" == *samples/s* ]] || fail "no table: $out"
run 1 --format=xml
[[ "$err" == *"--format"*"table"*"jsonl"* ]] || fail "format: $err"

# The peak of a device is measured once per run and shared.
run 0 --sweep='batch_size=8,16;precision=fp32,bf16'
[[ "$(grep -o '"peak_tflops":[0-9.]*' <<<"$out" | sort -u)" == \
  '"peak_tflops":0.08' ]] || fail "peaks: $out"
[[ "$err" == *"0.0800 TFLOP/s (measured, at most 823.0 samples/s of \
vit5_tiny) for fp32 on cpu"* ]] || fail "$err"

# A training beside other load is marked and counted, and not repeated.
busy=()
for ((i = 0; i < $(nproc); i++)); do
  (while :; do :; done) &
  busy+=("$!")
done
run 0 --seed=14
kill "${busy[@]}"
[[ "$(rows)" == 1 ]] || fail "$(rows) rows beside load"
has '"contended"'
[[ "$err" == *"1 row (1 ok) in "*"; 1 run noisy, contended or throttled ("*" in 1)"* ]] ||
  fail "noise: $err"

# A crash is a row, and a run without any other fails.
run 2 --seed=13
has '"status":"crashed"'
has 'SIGSEGV'
run 3 --seed=13 --fail-on=crashed
run 0 --sweep='seed=12,13'

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

# A data set in a store is read while training; what was read is in the row.
mkdir -p "$TEST_TMPDIR/far/c0" "$TEST_TMPDIR/far/c1"
echo first >"$TEST_TMPDIR/far/c0/a.jpg"
echo second >"$TEST_TMPDIR/far/c1/b.jpg"
run 0 --scope=e2e --dataset="file://$TEST_TMPDIR/far" \
  --cache-dir="$TEST_TMPDIR/cache" --connections=3
has '"status":"ok"'
has '"loader":"native"'
has '"storage":"file, 2 MB/s, 75% cached"'
has '"storage":{"scheme":"file","connections":3,"requests":24,"bytes":4000000,"retries":1,'
has '"download_mb_per_s":2,"cache_hit_rate":0.75'

# Wrong paths and ranges are named before anything runs.
refuses() {
  run 1 "${@:2}"
  [[ "$err" == "train: $1"* ]] || fail "${*:2}: $err"
  [[ -z "$out" ]] || fail "${*:2}: wrote rows"
}
echo no checkpoint >"$TEST_TMPDIR/bad.ckpt"
printf 'feedrate_checkpoint 1\nmeta model byte_lm_tiny\nmeta step 3\ndata\n' \
  >"$TEST_TMPDIR/byte.ckpt"
mkdir -p "$TEST_TMPDIR/images"
refuses "--dataset: $TEST_TMPDIR/none: no such folder" \
  --scope=e2e --dataset="$TEST_TMPDIR/none"
refuses "$TEST_TMPDIR/none: is not a folder" \
  --scope=e2e --dataset="file://$TEST_TMPDIR/none"
refuses "--loader=torchvision: reads a folder of files, and file://$TEST_TMPDIR/far is a store; copy it with stage_dataset, or use --loader=native" \
  --scope=e2e --dataset="file://$TEST_TMPDIR/far" --loader=torchvision
refuses "--cold: drops local files from memory, and file://$TEST_TMPDIR/far is a store" \
  --scope=e2e --dataset="file://$TEST_TMPDIR/far" --cold
mkdir -p "$TEST_TMPDIR/packed"
tar -C "$TEST_TMPDIR/far" -cf "$TEST_TMPDIR/packed/0.tar" c0
refuses "--loader=dali: reads a folder of files, and $TEST_TMPDIR/packed is tar shards" \
  --scope=e2e --dataset="$TEST_TMPDIR/packed" --loader=dali
refuses '--workers: -1 is not possible; use at least 0' \
  --scope=e2e --dataset="$TEST_TMPDIR/images" --workers=-1
refuses '--workers: "100000" is not a whole number' \
  --scope=e2e --dataset="$TEST_TMPDIR/images" --workers=100000
refuses '--measured_steps: "0" is not a whole number' --measured-steps=0
refuses '--warmup_steps: "-1" is not a whole number' --warmup-steps=-1
refuses "--resume_from: $TEST_TMPDIR/none.ckpt: " \
  --resume-from="$TEST_TMPDIR/none.ckpt"
refuses "--resume_from: $TEST_TMPDIR/images: " \
  --resume-from="$TEST_TMPDIR/images"
refuses "--resume_from: $TEST_TMPDIR/bad.ckpt: is not a checkpoint" \
  --resume-from="$TEST_TMPDIR/bad.ckpt"
refuses "--resume_from: $TEST_TMPDIR/byte.ckpt: is of model byte_lm_tiny" \
  --resume-from="$TEST_TMPDIR/byte.ckpt"
run 0 --resume-from="$TEST_TMPDIR/byte.ckpt" --model=byte_lm_tiny
[[ "$err" == *"byte.ckpt: has no checksum"* ]] || fail "no warning: $err"
printf 'feedrate_checkpoint 2\nsha256 %064d\nmeta model byte_lm_tiny\ndata\n' 0 \
  >"$TEST_TMPDIR/flipped.ckpt"
refuses "--resume_from: $TEST_TMPDIR/flipped.ckpt: is damaged" \
  --resume-from="$TEST_TMPDIR/flipped.ckpt" --model=byte_lm_tiny
refuses "--import: $TEST_TMPDIR/none: " --import="$TEST_TMPDIR/none"
refuses "--import: $TEST_TMPDIR/images: " --import="$TEST_TMPDIR/images"
refuses "--import: $TEST_TMPDIR/bad.ckpt: is not a safetensors file" \
  --import="$TEST_TMPDIR/bad.ckpt"
printf '\2\0\0\0\0\0\0\0{}' >"$TEST_TMPDIR/empty.safetensors"
refuses "--import: $TEST_TMPDIR/empty.safetensors: has no patch.weight, which vit5_tiny needs" \
  --import="$TEST_TMPDIR/empty.safetensors"
refuses '--export_ema: there are no averages of weights; add --ema_decay' \
  --export-ema="$TEST_TMPDIR/ema"
refuses '--export and --import: only library feedrate has them' \
  --libraries=torch_eager --export="$TEST_TMPDIR/weights"
# Below a file there can be no folder.
for flag in checkpoint metrics export; do
  refuses "--$flag: $TEST_TMPDIR/bad.ckpt/x" \
    "--$flag=$TEST_TMPDIR/bad.ckpt/x"
  refuses "--$flag: $TEST_TMPDIR/images" "--$flag=$TEST_TMPDIR/images"
done
[[ -z "$(ls -A "$TEST_TMPDIR/images")" ]] || fail "a check left a file"
if [[ ! -e /dev/nvidiactl ]]; then
  refuses '--device=cuda: this machine has no GPU' --device=cuda
fi
refuses '--loader: scope synthetic reads no files' --loader=native
refuses '--cold: scope synthetic reads no files' --cold

# A TMPDIR that does not exist does not end the program.
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
