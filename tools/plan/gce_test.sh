#!/bin/bash
# Campaigns in a simulated cloud: the emitted start-up script runs, with folders
# instead of buckets and a client that checks every command. It dies halfway,
# loses its machine, and gets broken archives and a full disk.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

root="$PWD"
plan="$root/tools/plan/plan"
data="$root/testdata/campaign"
once="$data/exactly_once.py"

# A bundle with a runner that waits, in place of micro.
stage="$TEST_TMPDIR/stage/feedrate-test"
mkdir -p "$stage/bin" "$TEST_TMPDIR/bin"
cp "$data/waiting_runner.py" "$stage/bin/micro"
cp "$root/tools/stage_dataset/stage_dataset" "$stage/bin/"
# Environments are made by counting.
cat >"$stage/bin/feedrate" <<'END'
#!/bin/bash
echo "$ENV_SET $*" >>"$MADE_ENVS"
mkdir -p "$XDG_CACHE_HOME/feedrate/venvs/made"
END
chmod +x "$stage"/bin/*
bundle="$TEST_TMPDIR/bundle's.tar.gz"
tar -czf "$bundle" -C "$TEST_TMPDIR/stage" feedrate-test
export MADE_ENVS="$TEST_TMPDIR/made_envs"

# The data set.
mkdir -p "$TEST_TMPDIR/images"
for number in 1 2 3; do echo "$number" >"$TEST_TMPDIR/images/$number.jpg"; done
tar -cf "$TEST_TMPDIR/val.tar" -C "$TEST_TMPDIR/images" .

ln -s "$data/gcloud.py" "$TEST_TMPDIR/bin/gcloud"
ln -s "$root/tools/check_coverage/check_coverage" "$TEST_TMPDIR/bin/"
export PATH="$TEST_TMPDIR/bin:$PATH" FEEDRATE_BIN="$TEST_TMPDIR/bin"
export GCLOUD_COMMANDS="$data/gcloud_commands.txt"
export FEEDRATE_CONFIGS="$root/configs"

# emit FOLDER BUCKET [FLAG...]: 32 jobs in waves of two machines.
emit() {
  "$plan" --config=configs/paper/prod_c4_rgb_micro_cpu.textproto \
    --num_items=100 --transforms="$transforms" --emit=gce --output="$1" \
    --bucket="$2" --project=some-project --bundle="$bundle" \
    --quota="$data/small_quota.textproto" "${@:3}" 2>"$TEST_TMPDIR/err" ||
    fail "emit: $(cat "$TEST_TMPDIR/err")"
  # Tests wait for seconds, not for minutes.
  sed -i -e 's/^SYNC_S=.*/SYNC_S=1/' -e 's/^TRY_INTERVAL_S=.*/TRY_INTERVAL_S=0/' \
    -e 's/^TRIES=.*/TRIES=2/' "$1"/vm/*.{sh,env}
}
transforms=Resize,HorizontalFlip,Rotate,Grayscale,GaussianBlur,Invert,Equalize
transforms+=,Brightness

# new_cloud NAME: an empty one, with the data set in its bucket.
new_cloud() {
  export GCLOUD_STATE="$TEST_TMPDIR/$1"
  mkdir -p "$GCLOUD_STATE/buckets/bucket/imagenet"
  cp "$TEST_TMPDIR/val.tar" "$GCLOUD_STATE/buckets/bucket/imagenet/val.tar"
  : >"$GCLOUD_STATE/mistakes.log"
  : >"$GCLOUD_STATE/calls.log"
}

expect_no_mistakes() {
  [[ ! -s "$GCLOUD_STATE/mistakes.log" ]] ||
    fail "wrong use of the client: $(cat "$GCLOUD_STATE/mistakes.log")"
}

# wait_until COMMAND...: it succeeds; only a hang takes the five minutes.
wait_until() {
  local deadline=$((SECONDS + 300))
  until "$@"; do
    if [[ "$SECONDS" -gt "$deadline" ]]; then
      fail "waited for $*"
      return 1
    fi
    sleep 0.05
  done
}

# session_of PID: the processes that a start with setsid has running, in
# whichever group they are.
session_of() {
  # PID (NAME) STATE PARENT GROUP SESSION ..., and a name may hold anything.
  cat /proc/[0-9]*/stat 2>/dev/null |
    awk -v session="$1" '{ pid = $1; sub(/^.*\) /, "")
      if ($4 == session && $1 != "Z") print pid }'
}

# power_off PID: all of them die, those that are being forked, too.
power_off() {
  local pids
  while mapfile -t pids < <(session_of "$1") && [[ ${#pids[@]} -gt 0 ]]; do
    kill -9 "${pids[@]}" 2>/dev/null
  done
  wait "$1" 2>/dev/null
}

# boot TASK WORK: the start-up script of one machine, until it ends.
boot() {
  FEEDRATE_WORK="$2" FEEDRATE_FOREGROUND=1 bash "$campaign/vm/$1.sh" \
    >"$TEST_TMPDIR/boot.log" 2>&1
}

# setting TASK NAME: of a machine.
setting() {
  # shellcheck source=/dev/null
  (source "$campaign/vm/$1.env" && echo "${!2}")
}
object() {
  local uri
  uri="$(setting "$1" "$2")"
  echo "${uri#file://}"
}

# One machine, with a bucket that is a folder of an awkward name.
test_one_machine() {
  new_cloud "one"
  local bucket="$TEST_TMPDIR/it's a \"bucket\" \$HOME;#"
  campaign="$TEST_TMPDIR/one campaign's"
  mkdir -p "$bucket/imagenet"
  cp "$TEST_TMPDIR/val.tar" "$bucket/imagenet/val.tar"
  emit "$campaign" "file://$bucket"
  local task=w01-cpu-00001
  # By hand what launch.sh does.
  mkdir -p "$(dirname "$(object $task BUNDLE_URI)")" \
    "$(dirname "$(object $task JOBS_URI)")"
  cp "$bundle" "$(object $task BUNDLE_URI)"
  cp "$campaign/tasks/$task.jsonl" "$(object $task JOBS_URI)"
  mkdir -p "$GCLOUD_STATE/machines/$(setting $task INSTANCE)"

  # It dies half-way, wherever that is, and is started again: at first in its
  # setting up, at last with a row. None gets beyond its first one, so that no
  # machine is too fast.
  local try never="$TEST_TMPDIR/never"
  for try in 1 2 3 4; do
    WAIT_FOR="$never$try" FEEDRATE_WORK="$TEST_TMPDIR/disk" \
      FEEDRATE_FOREGROUND=1 \
      setsid bash "$campaign/vm/$task.sh" >/dev/null 2>&1 &
    if [[ "$try" == 4 ]]; then
      wait_until test -s "${never}4.waiting"
    else
      sleep "0.$((try * 2))"
    fi
    power_off "$!"
  done
  [[ ! -e "$(object $task DONE_URI)" ]] || fail "it was done too early"
  # The machine goes, its disk too; what is in the bucket is carried on with.
  WAIT_FOR="$never" FEEDRATE_WORK="$TEST_TMPDIR/disk" FEEDRATE_FOREGROUND=1 \
    setsid bash "$campaign/vm/$task.sh" >/dev/null 2>&1 &
  wait_until test -s "$(object $task ROWS_URI)"
  power_off "$!"
  rm -rf "$TEST_TMPDIR/disk"
  local saved
  saved="$(grep -c '"record":"row"' "$(object $task ROWS_URI)")"
  [[ "$saved" -gt 0 ]] || fail "no rows were saved before the machine was lost"

  WAIT_S=0.01 boot $task "$TEST_TMPDIR/disk2" ||
    fail "bootstrap: $(tail -n 5 "$TEST_TMPDIR/boot.log")"
  [[ -e "$(object $task DONE_URI)" && ! -e "$(object $task FAILED_URI)" ]] ||
    fail "no marker DONE"
  [[ "$(cat "$(object $task EXIT_CODE_URI)")" == 0 ]] || fail "exit code"
  python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["exit_code"] == 0' \
    "$(object $task META_URI)" || fail "run_meta.json"
  [[ -s "$(object $task LOG_URI)" ]] || fail "no log"
  # The machine that was lost counts too.
  [[ "$(cat "$(object $task MACHINE_S_URI)")" -gt \
    "$(cat "$TEST_TMPDIR/disk2"/*/machine_s_before)" ]] ||
    fail "machine_s: $(cat "$(object $task MACHINE_S_URI)")"
  "$once" "$campaign/tasks/$task.jsonl" "$(object $task ROWS_URI)" >/dev/null ||
    fail "rows of one machine are wrong"
  grep -q "^compute instances delete $(setting $task INSTANCE)" \
    "$GCLOUD_STATE/calls.log" || fail "the machine was not deleted"
  # Started once more, as after a reboot: nothing happens.
  boot $task "$TEST_TMPDIR/disk2"
  grep -q 'done already' "$TEST_TMPDIR/boot.log" || fail "it ran twice"
  expect_no_mistakes
}

# new_campaign NAME TASK: a campaign in a bucket of its own, with all that the
# machine of this task fetches from there.
new_campaign() {
  new_cloud "$1"
  local bucket="$TEST_TMPDIR/$1 bucket"
  campaign="$TEST_TMPDIR/$1_campaign"
  mkdir -p "$bucket/imagenet"
  cp "$TEST_TMPDIR/val.tar" "$bucket/imagenet/val.tar"
  emit "$campaign" "file://$bucket"
  mkdir -p "$(dirname "$(object "$2" BUNDLE_URI)")" \
    "$(dirname "$(object "$2" JOBS_URI)")"
  cp "$bundle" "$(object "$2" BUNDLE_URI)"
  cp "$campaign/tasks/$2.jsonl" "$(object "$2" JOBS_URI)"
  mkdir -p "$GCLOUD_STATE/machines/$(setting "$2" INSTANCE)"
}

# Nothing in the bucket becomes a command, not even within arithmetic.
test_hostile_bucket() {
  local task=w01-cpu-00001
  new_campaign hostile $task
  local text machine_s
  machine_s="$(object $task MACHINE_S_URI)"
  echo "HOME[\$(touch '$TEST_TMPDIR/taken_over')0]" >"$machine_s"
  WAIT_S=0.01 boot $task "$TEST_TMPDIR/hostile_disk" ||
    fail "bootstrap: $(tail -n 5 "$TEST_TMPDIR/boot.log")"
  [[ ! -e "$TEST_TMPDIR/taken_over" ]] || fail "the bucket ran a command"
  [[ "$(cat "$machine_s")" =~ ^[0-9]+$ ]] ||
    fail "no seconds: $(cat "$machine_s")"
  # An eight behind a nought is not an octal number.
  for text in 08 "1 || 1" -1 1e9 99999999999999999999; do
    echo "$text" >"$machine_s"
    rm -rf "$TEST_TMPDIR/hostile_disk" "$(object $task DONE_URI)"
    WAIT_S=0.01 boot $task "$TEST_TMPDIR/hostile_disk" ||
      fail "$text: $(tail -n 5 "$TEST_TMPDIR/boot.log")"
    [[ "$(cat "$machine_s")" =~ ^[0-9]+$ ]] || fail "$text: $(cat "$machine_s")"
  done
  # Collecting takes it for no number of hours.
  touch "$campaign/waves/"{1,2,3,4}.complete
  rm "$campaign/waves/"*.tasks
  echo "HOME[\$(touch '$TEST_TMPDIR/taken_over')0]" >"$machine_s"
  "$campaign/collect.sh" >"$TEST_TMPDIR/collect" 2>&1
  grep -q "$task: .*holds no number" "$TEST_TMPDIR/collect" ||
    fail "collect: $(cat "$TEST_TMPDIR/collect")"
  [[ ! -e "$TEST_TMPDIR/taken_over" ]] || fail "the bucket ran a command here"
}

# Broken archives: FAILED, with the step, and the machine kept when asked for.
test_broken_archives() {
  new_cloud "broken"
  local bucket="$TEST_TMPDIR/broken bucket" task=w01-cpu-00001
  campaign="$TEST_TMPDIR/broken_campaign"
  mkdir -p "$bucket/imagenet"
  emit "$campaign" "file://$bucket"
  mkdir -p "$(dirname "$(object $task BUNDLE_URI)")" \
    "$(dirname "$(object $task JOBS_URI)")"
  cp "$campaign/tasks/$task.jsonl" "$(object $task JOBS_URI)"
  mkdir -p "$GCLOUD_STATE/machines/$(setting $task INSTANCE)"

  head -c 5000 "$bundle" >"$(object $task BUNDLE_URI)"
  boot $task "$TEST_TMPDIR/broken_disk" && fail "a broken bundle was run"
  [[ -e "$(object $task FAILED_URI)" ]] || fail "no marker FAILED"
  grep -q get_bundle "$(object $task META_URI)" || fail "the step is not named"
  [[ "$(cat "$(object $task EXIT_CODE_URI)")" != 0 ]] || fail "exit code is 0"
  grep -q "instances delete" "$GCLOUD_STATE/calls.log" ||
    fail "the failed machine was not deleted"

  cp "$bundle" "$(object $task BUNDLE_URI)"
  head -c 3000 "$TEST_TMPDIR/val.tar" >"$bucket/imagenet/val.tar"
  sed -i 's/^KEEP_ON_FAILURE=.*/KEEP_ON_FAILURE=1/' "$campaign/vm/$task.sh"
  mkdir -p "$GCLOUD_STATE/machines/$(setting $task INSTANCE)"
  : >"$GCLOUD_STATE/calls.log"
  boot $task "$TEST_TMPDIR/broken_disk" && fail "half a data set was used"
  grep -q get_data "$(object $task META_URI)" || fail "the step is not named"
  ! grep -q "instances delete" "$GCLOUD_STATE/calls.log" ||
    fail "the machine was not kept"

  # Repaired, the same machine carries on, and FAILED goes.
  cp "$TEST_TMPDIR/val.tar" "$bucket/imagenet/val.tar"
  boot $task "$TEST_TMPDIR/broken_disk" ||
    fail "repaired: $(tail -n 5 "$TEST_TMPDIR/boot.log")"
  [[ -e "$(object $task DONE_URI)" && ! -e "$(object $task FAILED_URI)" ]] ||
    fail "FAILED is still there"
  expect_no_mistakes
}

# A disk that is too small for the bundle.
test_full_disk() {
  if ! unshare --mount --map-root-user true 2>/dev/null; then
    echo "no mounts of one's own here: the full disk is not tested" >&2
    return
  fi
  local task=w01-cpu-00001
  new_campaign full $task
  mkdir -p "$TEST_TMPDIR/small_disk"
  export -f boot
  export campaign task TEST_TMPDIR
  # shellcheck disable=SC2016
  unshare --mount --map-root-user bash -c '
    mount -t tmpfs -o size=200k tmpfs "$TEST_TMPDIR/small_disk" &&
      boot "$task" "$TEST_TMPDIR/small_disk"' && fail "it ran on a full disk"
  [[ -e "$(object $task FAILED_URI)" && ! -e "$(object $task DONE_URI)" ]] ||
    fail "a full disk is no FAILED: $(tail -n 3 "$TEST_TMPDIR/boot.log")"
  boot $task "$TEST_TMPDIR/large_disk" || fail "a larger disk does not do"
  [[ -e "$(object $task DONE_URI)" ]] || fail "no DONE on a larger disk"
  expect_no_mistakes
}

# A campaign from the first command to the last, in gs:// buckets.
test_campaign() {
  new_cloud "campaign_cloud"
  campaign="$TEST_TMPDIR/campaign"
  : >"$MADE_ENVS"
  emit "$campaign" gs://bucket
  grep -q 'waves, estimated to cost [0-9]' "$TEST_TMPDIR/err" ||
    fail "no cost before: $(cat "$TEST_TMPDIR/err")"
  [[ -e "$campaign/waves/2.tasks" ]] || fail "one wave only"
  # Nothing happens unless asked for.
  "$campaign/launch.sh" 1 >"$TEST_TMPDIR/out" 2>/dev/null || fail "dry run"
  [[ "$(grep -c '^gcloud compute instances create' "$TEST_TMPDIR/out")" == 2 ]] ||
    fail "the dry run prints other than two machines"
  ! grep -q ' create \| cp ' "$GCLOUD_STATE/calls.log" ||
    fail "the dry run did something"

  export GCLOUD_BOOT=1 WAIT_S=0.02 WAIT_FOR="$TEST_TMPDIR/may_end"
  "$campaign/launch.sh" 1 --run 2>"$TEST_TMPDIR/err" ||
    fail "launch: $(cat "$TEST_TMPDIR/err")"
  # No machine of the first wave ends before somebody has waited for it.
  "$campaign/collect.sh" --run >"$TEST_TMPDIR/collect" 2>&1
  [[ $? == 4 ]] || fail "machines at work are not exit 4"
  touch "$WAIT_FOR"
  local round status
  for round in $(seq 1500); do
    status=0
    "$campaign/collect.sh" --run >"$TEST_TMPDIR/collect" 2>&1 || status=$?
    if [[ "$status" == 4 ]]; then
      sleep 0.2
    elif [[ "$status" != 0 ]]; then
      fail "collect: $status: $(tail -n 5 "$TEST_TMPDIR/collect")"
      break
    elif grep -q 'it was the last' "$TEST_TMPDIR/collect"; then
      break
    fi
  done
  unset GCLOUD_BOOT WAIT_S WAIT_FOR
  grep -q 'it was the last' "$TEST_TMPDIR/collect" ||
    fail "not complete after $round rounds"
  grep -q 'machine hours, which cost [0-9]' "$TEST_TMPDIR/collect" ||
    fail "no cost after: $(cat "$TEST_TMPDIR/collect")"
  "$once" "$campaign/jobs.jsonl" "$campaign/rows" >/dev/null ||
    fail "rows of the campaign are wrong"
  [[ -z "$(ls "$GCLOUD_STATE/machines")" ]] || fail "machines are left"
  # The second wave found the environments in the bucket.
  [[ "$(wc -l <"$MADE_ENVS")" -le 2 ]] || fail "environments were made again"
  expect_no_mistakes
}

# A machine that fails holds up the next wave; one that is lost does too.
test_next_wave_waits() {
  new_cloud "held_up"
  campaign="$TEST_TMPDIR/held_up_campaign"
  emit "$campaign" gs://bucket
  "$campaign/launch.sh" 1 --run 2>/dev/null || fail "launch"
  "$campaign/collect.sh" --run >/dev/null 2>&1
  [[ $? == 4 ]] || fail "machines at work were not waited for"
  # Both machines are taken away.
  rm -r "${GCLOUD_STATE:?}/machines"/*
  "$campaign/collect.sh" --run >/dev/null 2>"$TEST_TMPDIR/err"
  [[ $? == 3 ]] || fail "lost machines were not noticed"
  grep -q 'w01-cpu-00001: lost' "$TEST_TMPDIR/err" || fail "not named as lost"
  [[ "$(grep -c ' create ' "$GCLOUD_STATE/calls.log")" == 2 ]] ||
    fail "the next wave was started"
  [[ "$(wc -l <"$campaign/rerun.jsonl")" -gt 0 ]] || fail "no jobs to run again"
  expect_no_mistakes
}

# A task must not get a cache that lacks its environments.
test_environments_by_group() {
  campaign="$TEST_TMPDIR/groups_campaign"
  "$plan" --config=configs/paper/prod_c4_rgb_micro_cpu.textproto \
    configs/paper/prod_c4_video_micro_cpu.textproto --transforms=HorizontalFlip \
    --libraries=albumentationsx --configs=configs --emit=gce \
    --output="$campaign" --bucket=gs://bucket --project=some-project \
    --bundle="$bundle" 2>"$TEST_TMPDIR/err" || fail "$(cat "$TEST_TMPDIR/err")"
  local task caches=() groups=()
  for task in "$campaign"/vm/*.env; do
    task="$(basename "$task" .env)"
    caches+=("$(setting "$task" ENV_CACHE_URI)")
    groups+=("$(setting "$task" ENV_GROUPS)")
  done
  [[ ${#groups[@]} == 2 && "${groups[0]}" != "${groups[1]}" ]] ||
    fail "groups: ${groups[*]}"
  [[ "${caches[0]}" != "${caches[1]}" ]] || fail "one cache for ${groups[*]}"
}

# What a config says about its machine reaches the command.
test_machines() {
  new_cloud "machines"
  campaign="$TEST_TMPDIR/machines_campaign"
  sed -e 's/disk_size_gb: 200/disk_size_gb: 250 preemptible: true timeout_hours: 2/' \
    configs/paper/prod_g2_rgb_micro_gpu.textproto >"$TEST_TMPDIR/g2.textproto"
  "$plan" --config="$TEST_TMPDIR/g2.textproto" --configs=configs --emit=gce \
    --output="$campaign" --bucket=gs://bucket --project=some-project \
    --bundle="$bundle" 2>"$TEST_TMPDIR/err" || fail "$(cat "$TEST_TMPDIR/err")"
  "$campaign/launch.sh" 1 --run 2>/dev/null || fail "launch"
  local call part
  call="$(grep ' create ' "$GCLOUD_STATE/calls.log" | head -n 1)"
  for part in --boot-disk-size=250GB --machine-type=g2-standard-16 \
    --provisioning-model=SPOT --image-project=deeplearning-platform-release \
    --instance-termination-action=DELETE --max-run-duration=; do
    [[ "$call" == *" $part"* ]] || fail "no $part in: $call"
  done
  [[ "$call" != *--maintenance-policy* ]] || fail "not for preemptible ones"
  sed -i 's/^PREEMPTIBLE=.*/PREEMPTIBLE=/' "$campaign/vm/w01-gpu-00001.env"
  call="$("$campaign/launch.sh" 1 2>/dev/null)"
  [[ "$call" == *--maintenance-policy=TERMINATE* ]] ||
    fail "a GPU machine may be moved"
  grep -q '^TIME_LIMIT_S=7200$' "$campaign/vm/w01-gpu-00001.sh" ||
    fail "the config's time limit is not used"
  expect_no_mistakes
}

test_mistakes() {
  local flags=(--config=configs/paper/prod_c4_rgb_micro_cpu.textproto
    --emit=gce --output="$TEST_TMPDIR/none")
  "$plan" "${flags[@]}" 2>"$TEST_TMPDIR/err"
  [[ $? == 1 ]] || fail "no bucket"
  grep -q -e --bucket "$TEST_TMPDIR/err" || fail "the bucket is not asked for"
  "$plan" "${flags[@]}" --bucket=gs://b --project=p --bundle=/none \
    2>"$TEST_TMPDIR/err"
  [[ $? == 1 ]] || fail "no bundle"
  grep -v archive: configs/paper/prod_c4_rgb_micro_cpu.textproto \
    >"$TEST_TMPDIR/no_archive.textproto"
  "$plan" --config="$TEST_TMPDIR/no_archive.textproto" --configs=configs \
    --emit=gce --output="$TEST_TMPDIR/none" --bucket=gs://b --project=p \
    --bundle="$bundle" 2>"$TEST_TMPDIR/err"
  grep -q 'data.archive' "$TEST_TMPDIR/err" || fail "data from nowhere"
  # The stand-in itself: what is not in the list is refused.
  new_cloud "strict"
  gcloud compute instances create benchmark-x --zone=us-central1-a 2>/dev/null
  [[ $? == 97 ]] || fail "the stand-in lets a command without its flags pass"
  gcloud storage cp --recursive -- a gs://b/c 2>/dev/null
  [[ $? == 97 ]] || fail "the stand-in lets an unknown flag pass"
}

test_shellcheck() {
  if ! command -v shellcheck >/dev/null; then
    echo "shellcheck is not installed: scripts are not linted here" >&2
    return
  fi
  (cd "$TEST_TMPDIR/campaign" &&
    shellcheck --external-sources ./*.sh vm/w01-cpu-00001.sh) ||
    fail "shellcheck"
}

test_one_machine
test_hostile_bucket
test_broken_archives
test_full_disk
test_campaign
test_next_wave_waits
test_environments_by_group
test_machines
test_mistakes
test_shellcheck
finish
