#!/bin/bash
# The real program from its command line: flags, outputs, exit codes.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly PLAN=tools/plan/plan
readonly DEMO=configs/demo.textproto
readonly RGB=configs/paper/prod_c4_rgb_micro_cpu.textproto
readonly GOLDEN=testdata/plan

# run CODE ARGUMENT...: into $out and $err, with this exit code.
run() {
  local expected="$1"
  shift
  "$PLAN" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err"
  expect_eq "exit code of plan $*" "$?" "$expected"
  out="$(cat "$TEST_TMPDIR/out")"
  err="$(cat "$TEST_TMPDIR/err")"
}

# A mistake: exit 1, nothing on standard output, one line that starts so.
expect_mistake() { # start arguments...
  local start="$1"
  shift
  run 1 "$@"
  expect_eq "output of plan $*" "$out" ""
  [[ "$err" == "plan: $start"* && "$err" != *$'\n'* ]] ||
    fail "plan $*: got '$err', expected 'plan: $start…'"
}

has() { # text part
  [[ "$1" == *"$2"* ]] || fail "no '$2' in: ${1:0:300}"
}

# Only a run's config selects something.
all_configs() {
  find -L configs -name '*.textproto' -exec grep -l '^selection {' {} + | sort
}

# A row of status $1 for every run of every job on standard input.
rows() { # status [machine profile]
  python3 -c '
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    for run in job["run_indexes"]:
        print(json.dumps({"schema": 1, "record": "row",
                          "job_id": job["job_id"], "run_index": run,
                          "attempt": 0, "status": sys.argv[1], "throughput": 1,
                          "machine_profile": sys.argv[2]}))' "$1" "${2:-here}"
}

test_help() {
  local flag
  run 0 --help
  for flag in --config= --emit= --existing= --quota= --num_runs= --sweep=; do
    has "$out" "$flag"
  done
  has "$out" "Exit codes"
  has "$out" "1 the caller's mistake"
  has "$out" "plan --config=configs/demo.textproto --emit=table"
  [[ "$out" != *logtostderr* && "$out" != *minloglevel* ]] ||
    fail "--help shows flags of glog"
  expect_eq "standard error of --help" "$err" ""
  run 0 --helpfull
  has "$out" "--logtostderr"
  run 0 -h
  has "$out" "usage: plan"
}

test_version() {
  run 0 --version
  [[ "$out" =~ ^plan\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--version: $out"
}

test_flags() {
  expect_mistake "unknown flag --confg=x; did you mean --config?" --confg=x
  expect_mistake "unknown flag --zzzzzzzzzzz; --help lists" --zzzzzzzzzzz
  expect_mistake "--num_runs: \"many\" is not a whole number" --num_runs=many
  expect_mistake "no config; name one with --config=FILE"
  expect_mistake "--completion: a value is missing; use --completion=bash|zsh" \
    --completion
  expect_mistake "--list: \"librarys\" is unknown; did you mean \"libraries\"?" \
    --list=librarys
  expect_mistake "--emit: \"tabel\" is unknown; did you mean \"table\"?" \
    --config="$DEMO" --emit=tabel
  expect_mistake "--format: \"xml\" is unknown" --config="$DEMO" --format=xml
  expect_mistake "no/such.textproto: cannot open" --config=no/such.textproto
  expect_mistake "--batch_size: 0 is not possible" --batch_size=0 \
    --config=configs/paper/prod_c4_rgb_dataloader_cpu.textproto
  expect_mistake "--libraries: \"pilow\" is unknown" --config="$DEMO" \
    --libraries=pilow
  expect_mistake "--sweep: \"workers\" is not an axis" --config="$DEMO" \
    --sweep=workers
}

test_hyphens_and_underscores_are_alike() {
  run 0 --config="$DEMO" --num_runs=2 --emit=table
  local with_underscores="$out"
  run 0 --config "$DEMO" --num-runs 2 --emit=table
  expect_eq "with hyphens" "$out" "$with_underscores"
  has "$out" ", 2 runs,"
}

test_arguments_are_configs() {
  run 0 "$DEMO"
  local as_argument="$out"
  run 0 --config="$DEMO"
  expect_eq "config as an argument" "$as_argument" "$out"
  run 0 --emit=table "$DEMO" "$RGB"
  has "$out" "$RGB"
}

test_golden_table() {
  run 0 --config="$DEMO" --emit=table
  diff "$GOLDEN/demo_table.golden.txt" "$TEST_TMPDIR/out" >&2 ||
    fail "the table of the demo changed"
}

# Ids name work for ever: rows of today must fit the jobs of next year.
test_golden_jobs() {
  {
    "$PLAN" --config="$DEMO" | head -n 1
    "$PLAN" --config=configs/paper/prod_c4_9ch_dataloader_cpu.textproto |
      sed -n 3p
    "$PLAN" --config=configs/paper/prod_g2_rgb_micro_gpu.textproto \
      --transforms=Affine --libraries=kornia
  } >"$TEST_TMPDIR/jobs"
  diff "$GOLDEN/jobs.golden.jsonl" "$TEST_TMPDIR/jobs" >&2 ||
    fail "job lines changed"
}

test_counts_of_the_paper() {
  local name count
  while read -r name count; do
    run 0 --config="configs/paper/$name.textproto"
    expect_eq "jobs of $name" "$(wc -l <"$TEST_TMPDIR/out")" "$count"
  done <<'END'
prod_c4_rgb_micro_cpu 161
prod_c4_9ch_micro_cpu 106
prod_c4_rgb_dataloader_cpu 164
prod_c4_9ch_dataloader_cpu 106
prod_g2_rgb_micro_gpu 77
prod_g2_9ch_micro_gpu 61
END
}

# A folder with smoke runs beside the paper's: the paper is what its name says.
test_sets_of_a_folder() {
  local name
  run 0 --config=configs/paper
  has "$err" "configs/paper: planning set paper (12 configs); left out: \
gpu_video (3), other_vendor (1), reduced (4), smoke (5); see --set"
  for name in configs/paper/prod_*.textproto; do cat "$name"; done |
    grep -c '^set: "paper"' | grep -qx 12 || fail "prod_* is not the paper"
  sort "$TEST_TMPDIR/out" >"$TEST_TMPDIR/paper"
  run 0 configs/paper/prod_*.textproto
  expect_eq "jobs of the paper" "$(sort "$TEST_TMPDIR/out" | md5sum)" \
    "$(md5sum <"$TEST_TMPDIR/paper")"
  run 0 --config=configs/paper/ --set=smoke
  expect_eq "warnings" "$err" ""
  expect_mistake "configs/paper: no config of set \"papre\"; the folder has \
gpu_video (3), other_vendor (1), paper (12), reduced (4), smoke (5); choose with \
--set=NAME, or --set=all" --config=configs/paper --set=papre
  expect_mistake "--set chooses among the configs of a folder" \
    --config="$DEMO" --set=paper
}

test_every_line_is_json() {
  run 0 --config=configs/paper --set=all
  python3 -c '
import json, sys
jobs = [json.loads(line) for line in open(sys.argv[1])]
assert len(jobs) > 2000, len(jobs)
for job in jobs:
    assert list(job)[:3] == ["schema", "record", "job_id"], job
    assert job["schema"] == 1 and job["record"] == "job", job
    assert len(job["job_id"]) == 16 and int(job["job_id"], 16) >= 0, job
    assert isinstance(job["num_items"], int), job' "$TEST_TMPDIR/out" ||
    fail "job records"
  run 0 --config=configs/paper --emit=waves --format=jsonl
  python3 -m json.tool --json-lines "$TEST_TMPDIR/out" >/dev/null ||
    fail "waves are no JSON lines"
}

test_every_emit_of_every_config() {
  local config emit
  for config in $(all_configs); do
    for emit in jobs table resolved; do
      run 0 --config="$config" --emit="$emit"
      [[ -n "$out" && -z "$err" ]] || fail "$config --emit=$emit: $err"
    done
  done
  run 0 --config=configs/paper --emit=waves
  has "$out" "quota that binds: 500 GB of hyperdisk"
  has "$out" "quota that binds: 1 GPU"
  has "$out" "jobs, ETA "
}

test_five_c4_at_once_not_six() {
  run 0 --emit=waves --config="$(echo configs/paper/prod_c4_*.textproto |
    tr ' ' ,)"
  has "$out" "Wave 1: 2 x c4-highmem-16, 3 x c4-standard-16"
  has "$out" "500 GB of hyperdisk: 500 used, one more c4-standard-16 needs 100"
  has "$out" "Wave 2: "
  has "$out" "2 waves, "
}

test_resolved_resolves_to_itself() {
  local config again="$TEST_TMPDIR/resolved.textproto"
  for config in $(all_configs); do
    run 0 --config="$config" --emit=resolved
    cp "$TEST_TMPDIR/out" "$again"
    run 0 --configs=configs --config="$again" --emit=resolved
    cmp "$TEST_TMPDIR/out" "$again" || fail "$config does not"
    # It plans the same jobs.
    run 0 --config="$config"
    cp "$TEST_TMPDIR/out" "$TEST_TMPDIR/jobs"
    run 0 --configs=configs --config="$again"
    cmp "$TEST_TMPDIR/out" "$TEST_TMPDIR/jobs" || fail "$config: other jobs"
  done
}

test_output_to_a_file() {
  local folder="$TEST_TMPDIR/file"
  mkdir "$folder"
  run 0 --config="$DEMO" --output="$folder/jobs.jsonl"
  expect_eq "standard output" "$out" ""
  run 0 --config="$DEMO"
  expect_eq "the file" "$(cat "$folder/jobs.jsonl")" "$out"
  # When it fails, the old file stays and nothing is left beside it.
  run 1 --config="$DEMO" --libraries=nobody --output="$folder/jobs.jsonl"
  expect_eq "the old file" "$(cat "$folder/jobs.jsonl")" "$(
    "$PLAN" --config="$DEMO")"
  run 1 --config="$DEMO" --libraries=nobody --output="$folder/new.jsonl"
  expect_eq "files" "$(ls -A "$folder")" jobs.jsonl
  run 1 --config="$DEMO" --output="$folder/jobs.jsonl/below/a/file"
}

test_output_to_a_folder() {
  local folder="$TEST_TMPDIR/folder"
  mkdir "$folder"
  run 0 --config="$DEMO" --num_runs=2 --output="$folder"
  expect_eq "files" "$(echo "$folder"/*)" \
    "$folder/jobs.jsonl $folder/resolved_config.textproto"
  run 0 --config="$DEMO" --num_runs=2
  expect_eq "jobs.jsonl" "$(cat "$folder/jobs.jsonl")" "$out"
  run 0 --configs=configs --config="$folder/resolved_config.textproto"
  expect_eq "jobs of the resolved config" "$(cat "$folder/jobs.jsonl")" "$out"
  expect_mistake "--emit=resolved and a folder as --output take one config" \
    --config=configs/paper --set=all --output="$folder"
}

# Pipes can be read once.
test_standard_input() {
  local folder="$TEST_TMPDIR/stdin"
  mkdir "$folder"
  "$PLAN" --configs=configs --config=- --output="$folder" <"$DEMO" ||
    fail "a config on standard input"
  expect_eq "jobs" "$(wc -l <"$folder/jobs.jsonl")" 24
  "$PLAN" --config="$DEMO" | rows ok |
    "$PLAN" --config="$DEMO" --existing=- --output="$folder" ||
    fail "rows on standard input"
  expect_eq "jobs left" "$(wc -l <"$folder/jobs.jsonl")" 0
}

run_indexes() {
  python3 -c '
import json, sys
print(sorted({str(json.loads(line)["run_indexes"]) for line in sys.stdin}))'
}

# 1 run, then 3, then 5: each time only what is new.
test_existing_tops_up() {
  local rows="$TEST_TMPDIR/rows.jsonl"
  "$PLAN" --config="$DEMO" --num_runs=1 | rows ok >"$rows"
  run 0 --config="$DEMO" --num_runs=3 --existing="$rows"
  expect_eq "1 to 3" "$(run_indexes <"$TEST_TMPDIR/out")" "['[1, 2]']"
  expect_eq "jobs" "$(wc -l <"$TEST_TMPDIR/out")" 24
  rows ok <"$TEST_TMPDIR/out" >>"$rows"
  run 0 --config="$DEMO" --num_runs=5 --existing="$rows"
  expect_eq "3 to 5" "$(run_indexes <"$TEST_TMPDIR/out")" "['[3, 4]']"
  rows ok <"$TEST_TMPDIR/out" >>"$rows"
  run 0 --config="$DEMO" --num_runs=5 --existing="$rows"
  expect_eq "nothing is left" "$out" ""
  run 0 --config="$DEMO" --num_runs=5 --existing="$rows" --emit=table
  has "$out" "24 jobs have all their runs already and are left out."
  # Folders and lists of files; rows of one machine alone.
  mkdir -p "$TEST_TMPDIR/results/deep"
  cp "$rows" "$TEST_TMPDIR/results/deep"
  run 0 --config="$DEMO" --num_runs=5 --existing="$TEST_TMPDIR/results"
  expect_eq "rows in a folder" "$out" ""
  run 0 --config="$DEMO" --num_runs=5 --existing="$rows" \
    --machine_profile=there
  expect_eq "rows of another machine" "$(run_indexes <"$TEST_TMPDIR/out")" \
    "['[0, 1, 2, 3, 4]']"
  expect_mistake "no/such.jsonl: cannot open" --config="$DEMO" \
    --existing=no/such.jsonl
}

test_existing_early_stop_answers_and_failure_does_not() {
  local rows="$TEST_TMPDIR/rows.jsonl"
  "$PLAN" --config="$DEMO" --num_runs=1 | rows early_stopped >"$rows"
  run 0 --config="$DEMO" --num_runs=5 --existing="$rows"
  expect_eq "early-stopped" "$out" ""
  "$PLAN" --config="$DEMO" --num_runs=1 | rows crashed >"$rows"
  run 0 --config="$DEMO" --num_runs=1 --existing="$rows"
  expect_eq "crashed" "$(wc -l <"$TEST_TMPDIR/out")" 24
}

test_existing_torn_and_broken_lines() {
  local rows="$TEST_TMPDIR/broken.jsonl"
  "$PLAN" --config="$DEMO" | rows ok >"$TEST_TMPDIR/good.jsonl"
  {
    sed -n 1,10p "$TEST_TMPDIR/good.jsonl"
    echo "rubbish"
    printf '{"schema":1,"record":"row","job_id":"a' # A writer died here.
    sed -n '11,$p' "$TEST_TMPDIR/good.jsonl" | tr -d ' '
    printf '\xff\x00\n{"schema": 1, "record": "row", "job_id": "b'
  } >"$rows"
  run 0 --config="$DEMO" --existing="$rows"
  expect_eq "all good rows are read" "$out" ""
  expect_eq "complaints" "$(grep -c "^plan: $rows:" "$TEST_TMPDIR/err")" 4
  has "$err" "$rows:11: not JSON"
  has "$err" "$rows:12: not JSON"
  has "$err" "it holds 1 record"
  has "$err" "skipped the torn last line"
}

test_output_that_does_not_arrive() {
  "$PLAN" --config="$RGB" >/dev/full 2>"$TEST_TMPDIR/err"
  expect_eq "exit code on a full disk" "$?" 2
  has "$(cat "$TEST_TMPDIR/err")" "No space left on device"
  "$PLAN" --help >/dev/full 2>/dev/null
  expect_eq "exit code of --help on a full disk" "$?" 2
  # Devices are written to, never replaced. Through a link: a mistake here
  # would cost the machine its device.
  ln -s /dev/full "$TEST_TMPDIR/full"
  ln -s /dev/null "$TEST_TMPDIR/null"
  run 2 --config="$RGB" --output="$TEST_TMPDIR/full"
  has "$err" "No space left on device"
  run 0 --config="$RGB" --output="$TEST_TMPDIR/null"
  [[ -L "$TEST_TMPDIR/full" && -L "$TEST_TMPDIR/null" ]] ||
    fail "a device was replaced"
  "$PLAN" --config="$RGB" >&- 2>/dev/null
  expect_eq "exit code without standard output" "$?" 2
}

test_a_reader_that_leaves_early() {
  "$PLAN" --config=configs/paper --set=paper 2>"$TEST_TMPDIR/err" | head -n 1 >/dev/null
  expect_eq "complaints to plan | head" "$(cat "$TEST_TMPDIR/err")" ""
}

test_mistakes_come_before_the_first_job() {
  # More than a buffer of jobs would come before the device's turn.
  expect_mistake "--sweep: \"albumentationsx\" has no" --config="$RGB" --sweep="device=cpu,cuda"
  # The second config is wrong.
  local bad="$TEST_TMPDIR/bad.textproto"
  sed 's/"pillow"/"pyav"/' "$RGB" >"$bad"
  expect_mistake "$bad:" --configs=configs "$RGB" "$bad"
}

test_completions_load() {
  bash -c "source <('$PLAN' --completion=bash) && complete -p plan" \
    >"$TEST_TMPDIR/out" || fail "bash completion"
  run 0 --completion=zsh
  has "$out" "#compdef plan"
  run 0 --completion=fish
  has "$out" "complete -c plan -l emit"
  expect_mistake "--completion: no script for \"tcsh\"" --completion=tcsh
}

test_lists_of_names() {
  run 0 --list=libraries
  has $'\n'"$out"$'\n' $'\nopencv\n'
  expect_eq "libraries listed twice" "$(sort <<<"$out" | uniq -d)" ""
  run 0 --list=transforms
  has $'\n'"$out"$'\n' $'\nHorizontalFlip\n'
  run 0 --list=configs --configs=configs
  expect_eq "configs" "$out" "$(all_configs)"
}

# complete WORD...: what bash offers for the last word, one line each.
complete_bash() {
  PATH="$PWD/tools/plan:$PATH" bash -c '
    source <(plan --completion=bash)
    COMP_WORDS=(plan "$@")
    COMP_CWORD=$#
    _feedrate_plan 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

test_names_are_completed() {
  expect_eq "library" "$(complete_bash --libraries = alb | head -n 1)" \
    albumentations_mit
  expect_eq "second library" "$(complete_bash --libraries = pillow,openc)" \
    pillow,opencv
  expect_eq "transform" "$(complete_bash --transforms=HorizontalF)" \
    --transforms=HorizontalFlip
  expect_eq "list" "$(complete_bash --list = conf)" configs
}

for name in $(compgen -A function test_); do
  echo "== $name"
  "$name"
done
finish
