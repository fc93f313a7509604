#!/bin/bash
# Runs campaigns for a shell and for make, with a runner that waits. They are
# stopped, killed and started again, and every row exists once.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

root="$PWD"
plan="$root/tools/plan/plan"
check="$root/tools/check_coverage/check_coverage"
once="$root/testdata/campaign/exactly_once.py"

# Programs of the campaign: the runner that waits, and the real check.
bin="$TEST_TMPDIR/bin"
mkdir -p "$bin"
cp "$root/testdata/campaign/waiting_runner.py" "$bin/micro"
ln -s "$check" "$bin/check_coverage"
export FEEDRATE_BIN="$bin" FEEDRATE_CONFIGS="$root/configs"

# emit KIND FOLDER [FLAG...]: 40 jobs in 10 tasks.
emit() {
  "$plan" --config=configs/demo.textproto --libraries=opencv --num_runs=1 \
    --sweep="seed=0,1,2,3,4" --emit="$1" --output="$2" --task_s=24 "${@:3}" \
    2>"$TEST_TMPDIR/err" || fail "emit $1: $(cat "$TEST_TMPDIR/err")"
  # The disk of a machine, as far as this test goes.
  echo "LOCAL=\"$TEST_TMPDIR/local\"" >"$2/site.env"
}

# expect_once FOLDER
expect_once() {
  local count
  count="$("$once" "$1/jobs.jsonl" "$1/rows")" || fail "$1: rows are wrong"
  [[ "$count" == 40 ]] || fail "$1: $count runs, not 40"
}

test_shell() {
  local folder="$TEST_TMPDIR/shell"
  emit shell "$folder"
  "$folder/run.sh" 2>"$TEST_TMPDIR/err" || fail "run.sh: $(cat "$TEST_TMPDIR/err")"
  expect_once "$folder"
  "$folder/check.sh" >"$TEST_TMPDIR/out" 2>&1 ||
    fail "check.sh: $(cat "$TEST_TMPDIR/out")"
  [[ "$(grep -c '"record":"row"' "$folder/rows.jsonl")" == 40 ]] ||
    fail "rows.jsonl has not 40 rows"
  # Nothing is left to do, on either side.
  "$folder/run.sh" 2>"$TEST_TMPDIR/err" || fail "a second run.sh failed"
  [[ ! -s "$TEST_TMPDIR/err" ]] ||
    fail "a second run.sh did something: $(cat "$TEST_TMPDIR/err")"
  [[ -z "$(find "$folder/partial" "$TEST_TMPDIR/local" -name '*.jsonl')" ]] ||
    fail "something was left behind"
}

# wait_for_lines COUNT FILE: so many runners wait there, in the middle of their
# tasks. Only a hang takes the five minutes.
wait_for_lines() {
  local deadline=$((SECONDS + 300))
  until [[ -e "$2" && "$(wc -l <"$2")" -ge "$1" ]]; do
    if [[ "$SECONDS" -gt "$deadline" ]]; then
      fail "nobody waits in $2"
      return 1
    fi
    sleep 0.05
  done
}

test_stopped_run_carries_on() {
  local folder="$TEST_TMPDIR/stopped" signal gate round=0
  emit shell "$folder"
  for signal in TERM KILL INT TERM KILL; do
    gate="$TEST_TMPDIR/stopped.$((++round))"
    # Ignored in the background, unless it is asked for.
    (
      trap - INT
      WAIT_FOR="$gate" exec "$folder/run.sh" 2>/dev/null
    ) &
    wait_for_lines 1 "$gate.waiting"
    kill "-$signal" "$!" 2>/dev/null
    # What SIGKILL leaves behind finishes its task, as it may.
    if [[ "$signal" == KILL ]]; then touch "$gate"; fi
    wait "$!" 2>/dev/null && fail "SIG$signal was nothing to it"
    touch "$gate"
  done
  WAIT_S=0.01 "$folder/run.sh" 2>/dev/null || fail "it did not carry on"
  expect_once "$folder"
}

test_failed_rows_get_another_attempt() {
  local folder="$TEST_TMPDIR/failing" status=0
  emit make "$folder"
  mkdir "$TEST_TMPDIR/failed"
  export FAIL_ONCE="$TEST_TMPDIR/failed"
  make -s -C "$folder" 2>/dev/null || fail "make failed"
  make -s -C "$folder" collect >"$TEST_TMPDIR/out" 2>&1 || status=$?
  [[ "$status" == 2 ]] || fail "collect found nothing missing"
  grep -q 'Error 3' "$TEST_TMPDIR/out" || fail "not exit 3 of check_coverage"
  local missing rerun
  missing="$(find "$FAIL_ONCE" -type f | wc -l)"
  rerun="$(wc -l <"$folder/rerun.jsonl")"
  [[ "$missing" -gt 0 && "$rerun" == "$missing" ]] ||
    fail "$rerun jobs to run again, $missing failed"
  make -s -C "$folder" again || fail "make again failed"
  make -s -C "$folder" 2>/dev/null || fail "make failed again"
  make -s -C "$folder" collect >/dev/null 2>&1 || fail "still not complete"
  unset FAIL_ONCE
  expect_once "$folder"
}

test_make_with_many_jobs_killed() {
  local folder="$TEST_TMPDIR/make" round
  emit make "$folder"
  for round in 1 2 3; do
    WAIT_FOR="$folder.$round" setsid make -s -j4 -C "$folder" 2>/dev/null &
    wait_for_lines "$round" "$folder.$round.waiting"
    kill -9 "-$!" 2>/dev/null
    wait "$!" 2>/dev/null
  done
  WAIT_S=0.01 make -s -j4 -C "$folder" 2>"$TEST_TMPDIR/err" ||
    fail "make -j4: $(tail -n 3 "$TEST_TMPDIR/err")"
  expect_once "$folder"
}

test_two_at_once() {
  local folder="$TEST_TMPDIR/twice" first
  emit shell "$folder"
  WAIT_S=0.02 "$folder/run.sh" 2>/dev/null &
  first=$!
  WAIT_S=0.02 "$folder/run.sh" 2>/dev/null || fail "the second failed"
  wait "$first" || fail "the first failed"
  expect_once "$folder"
}

test_hostile_names() {
  local folder="$TEST_TMPDIR/it's \$HOME \"here\" & there; #1"
  cp configs/demo.textproto "$TEST_TMPDIR/a 'config' \$(id).textproto"
  "$plan" --config="$TEST_TMPDIR/a 'config' \$(id).textproto" --configs=configs \
    --libraries=opencv --emit=shell --output="$folder" --task_s=24 \
    --dataset="/data/\$(touch $TEST_TMPDIR/run); it's/val" \
    --container="env CONTAINED=1" 2>"$TEST_TMPDIR/err" ||
    fail "hostile names: $(cat "$TEST_TMPDIR/err")"
  printf 'LOCAL=%q\n' "$TEST_TMPDIR/local disk" >"$folder/site.env"
  "$folder/run.sh" 2>"$TEST_TMPDIR/err" ||
    fail "hostile names: $(cat "$TEST_TMPDIR/err")"
  "$once" "$folder/jobs.jsonl" "$folder/rows" >/dev/null ||
    fail "hostile names: rows are wrong"
  [[ ! -e "$TEST_TMPDIR/run" ]] || fail "a name was run as a command"
}

# as_other COMMAND...: as a user who is not this one.
as_other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# Another user of the machine waits where tasks keep their rows and data.
test_folder_of_another_user() {
  local folder="$TEST_TMPDIR/shared" id shared mine task
  if [[ "$(id -u)" != 0 ]] || ! as_other true 2>/dev/null; then
    echo "not root: a second user is not tried here" >&2
    return
  fi
  emit shell "$folder"
  rm "$folder/site.env"
  id="$(sed -n 's/^CAMPAIGN_ID=//p' "$folder/campaign.env")"
  # Not below TEST_TMPDIR, which another user cannot reach.
  shared="$(mktemp -d /tmp/campaign_test.XXXXXX)"
  chmod 1777 "$shared"
  mine="$TEST_TMPDIR/mine"
  echo untouched >"$mine"
  # The name that tasks used to have, and everything in it a link.
  # shellcheck disable=SC2016  # For the other user's shell.
  local trap_folder='mkdir -m 777 "$1" && cd "$1" && for name in .probe data \
    $(seq -f "w01-cpu-%05g.jsonl" 10) $(seq -f "w01-cpu-%05g.lock" 10); do
      ln -s "$2" "$name"; done'
  as_other bash -c "$trap_folder" - "$shared/$id" "$mine" || fail "no trap"
  TMPDIR="$shared" "$folder/run.sh" 2>"$TEST_TMPDIR/err" ||
    fail "another user's folder stopped it: $(cat "$TEST_TMPDIR/err")"
  expect_once "$folder"
  expect_eq "a file behind a link" "$(cat "$mine")" untouched
  # Its own folder has gone, as happens in /tmp, and its name is taken.
  local own modes
  own="$(cat "$folder"/local/*)"
  modes="$(stat -c '%a %u' "$own")"
  expect_eq "mode and owner of $own" "$modes" "700 0"
  for task in w01-cpu-00001 w01-cpu-00002; do
    rm -rf "$own" "$folder/rows/$task.jsonl"
    if [[ "$task" == *1 ]]; then
      as_other bash -c "$trap_folder" - "$own" "$mine" || fail "no second trap"
    else
      as_other ln -s "$TEST_TMPDIR" "$own" || fail "no third trap"
    fi
    TMPDIR="$shared" "$folder/run.sh" "$task" 2>"$TEST_TMPDIR/err" ||
      fail "a name that was taken stopped it: $(cat "$TEST_TMPDIR/err")"
    grep -q 'not a private folder' "$TEST_TMPDIR/err" || fail "it said nothing"
    expect_eq "a file behind a link" "$(cat "$mine")" untouched
    [[ "$(cat "$folder"/local/*)" != "$own" ]] || fail "$own was trusted"
    expect_once "$folder"
    rm -rf "$own"
    own="$(cat "$folder"/local/*)"
  done
  # Where anyone can rename a private folder, there is none.
  chmod 0777 "$shared"
  rm "$folder/rows/w01-cpu-00001.jsonl"
  TMPDIR="$shared" "$folder/run.sh" 2>"$TEST_TMPDIR/err" ||
    fail "a folder of all users stopped it: $(cat "$TEST_TMPDIR/err")"
  grep -q 'any user can replace folders' "$TEST_TMPDIR/err" ||
    fail "a folder of all users was trusted"
  expect_once "$folder"
  rm -rf "$shared"
}

# The note about the local folder lies where a group may write.
test_note_that_leads_elsewhere() {
  local folder="$TEST_TMPDIR/noted" keys="$TEST_TMPDIR/keys" note led
  emit shell "$folder"
  mkdir -p "$TEST_TMPDIR/local"
  mkdir -m 700 "$keys"
  WAIT_S=0 "$folder/run.sh" w01-cpu-00001 2>"$TEST_TMPDIR/err" ||
    fail "a first task: $(cat "$TEST_TMPDIR/err")"
  note="$(echo "$folder"/local/*)"
  for led in "$keys" "$TEST_TMPDIR/local/../keys" "$(cat "$note")/../../keys"; do
    echo "$led" >"$note"
    rm "$folder"/rows/w01-cpu-00001.jsonl
    WAIT_S=0 "$folder/run.sh" w01-cpu-00001 2>"$TEST_TMPDIR/err" ||
      fail "a note that leads elsewhere: $(cat "$TEST_TMPDIR/err")"
    expect_eq "the note" "$(dirname "$(cat "$note")")" "$TEST_TMPDIR/local"
    # Rows are moved away at the end, the lock stays.
    expect_eq "files in $led" "$(ls -A "$keys")" ""
  done
}

# Numbers that overflowed in the script are refused.
test_absurd_numbers() {
  "$plan" --config=configs/native/rgb_pipeline_cpu.textproto \
    --workers=2147483647 --batch_size=2147483647 --emit=slurm \
    --output="$TEST_TMPDIR/absurd" 2>"$TEST_TMPDIR/err"
  [[ $? == 1 ]] || fail "absurd numbers made a campaign"
  grep -q 'which no machine has; use smaller numbers' "$TEST_TMPDIR/err" ||
    fail "absurd numbers: $(cat "$TEST_TMPDIR/err")"
  [[ "$(wc -l <"$TEST_TMPDIR/err")" == 1 && ! -e "$TEST_TMPDIR/absurd" ]] ||
    fail "absurd numbers: $(cat "$TEST_TMPDIR/err")"
}

test_full_local_disk() {
  local folder="$TEST_TMPDIR/full"
  emit shell "$folder"
  # No folder can be made below a file, whoever asks.
  touch "$TEST_TMPDIR/no_folder"
  echo "LOCAL=$TEST_TMPDIR/no_folder" >"$folder/site.env"
  "$folder/run.sh" 2>"$TEST_TMPDIR/err" || fail "a full disk stopped it"
  grep -q 'no room' "$TEST_TMPDIR/err" || fail "it did not say so"
  expect_once "$folder"
}

test_mistakes() {
  "$plan" --config=configs/demo.textproto --emit=make 2>"$TEST_TMPDIR/err"
  [[ $? == 1 ]] || fail "a campaign without a folder was made"
  grep -q 'output=FOLDER' "$TEST_TMPDIR/err" ||
    fail "a campaign without a folder: $(cat "$TEST_TMPDIR/err")"
  mkdir -p "$TEST_TMPDIR/used/rows"
  "$plan" --config=configs/demo.textproto --emit=make \
    --output="$TEST_TMPDIR/used" 2>"$TEST_TMPDIR/err"
  [[ $? == 1 ]] || fail "a folder that is used was used again"
  grep -q 'not empty' "$TEST_TMPDIR/err" ||
    fail "a folder that is used: $(cat "$TEST_TMPDIR/err")"
  [[ -z "$(find "$TEST_TMPDIR" -maxdepth 1 -name '*.new.*')" ]] ||
    fail "a half-made folder is left"
}

# The emitted scripts themselves.
test_shellcheck() {
  if ! command -v shellcheck >/dev/null; then
    echo "shellcheck is not installed: scripts are not linted here" >&2
    return
  fi
  local folder="$TEST_TMPDIR/lint"
  emit slurm "$folder" --array_limit=4
  [[ "$(find "$folder/arrays" -name '*.sbatch' | wc -l)" == 3 ]] ||
    fail "10 tasks in arrays of 4 are not 3 arrays"
  (cd "$folder" && shellcheck --external-sources ./*.sh arrays/*.sbatch) ||
    fail "shellcheck"
  bash -n "$folder/campaign.env" || fail "campaign.env"
}

test_shell
test_stopped_run_carries_on
test_failed_rows_get_another_attempt
test_make_with_many_jobs_killed
test_two_at_once
test_hostile_names
test_folder_of_another_user
test_note_that_leads_elsewhere
test_absurd_numbers
test_full_local_disk
test_mistakes
test_shellcheck
finish
