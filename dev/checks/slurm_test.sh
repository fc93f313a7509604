#!/bin/bash
# Campaigns on a real Slurm: a controller and four nodes on this machine, started
# and stopped here. Nodes lose their power in the middle of jobs, the controller
# is killed and started again, the disk of a node runs full: every row arrives,
# and once. Needs root, and Debian's slurmctld, slurmd, slurm-client, munge.
#
#   dev/checks/slurm_test.sh
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/slurm_cluster.sh
source "$REPO_ROOT/dev/checks/slurm_cluster.sh"
cd "$REPO_ROOT"

dev/setup.sh build slurm
dev/bazel.sh build --show_result=0 //tools/plan //tools/micro \
  //tools/check_coverage //lib/adapters/opencv:worker_opencv

# /run and not /tmp: a socket's path must be short, its folder not open to all.
work="$(mktemp -d /run/feedrate_slurm.XXXXXX)"
finish() {
  cluster_stop
  if mountpoint -q "$work/local/n3"; then umount -l "$work/local/n3"; fi
  rm -rf "$work"
}
trap finish EXIT

fail() {
  say "slurm_test: $*"
  tail -n 3 "$work"/*/logs/*.log >&2 || true
  exit 1
}

# emit FOLDER SEEDS FLAG...: 20 transforms for each seed, about four jobs a task.
emit() {
  bazel-bin/tools/plan/plan --config=configs/native/rgb_micro_cpu.textproto \
    --libraries=opencv --num_items=4 --num_runs=1 --dataset=synthetic:rgb \
    --transforms="$transforms" --sweep="seed=$2" --emit=slurm --output="$1" \
    --task_s=24 "${@:3}"
  cat >"$1/site.env" <<END
LOCAL="$work/local/\${SLURMD_NODENAME:-}"
CHECKPOINT_S=1
POLL_S=1
export XDG_CACHE_HOME="$work/cache"
export FEEDRATE_WORKERS="$REPO_ROOT/bazel-bin"
END
}

# complete FOLDER: collects, submits again what is missing, at most three times.
complete() {
  local round
  for round in 1 2 3; do
    if timeout 900 make -s -C "$1" collect >"$work/collect.$round" 2>&1; then
      return
    fi
    say "round $round: $(grep 'to run again' "$work/collect.$round" || true)"
    make -s -C "$1" resubmit
  done
  timeout 900 make -s -C "$1" collect >"$work/collect.log" 2>&1 ||
    fail "not complete after three rounds: $(tail -n 20 "$work/collect.log")"
}

# expect_once FOLDER COUNT
expect_once() {
  local count
  count="$(testdata/campaign/exactly_once.py "$1/jobs.jsonl" "$1/rows")" ||
    fail "$1: rows are wrong"
  [[ "$count" == "$2" ]] || fail "$1: $count runs, not $2"
}

# wait_until COMMAND...: it succeeds; only what hangs takes ten minutes.
wait_until() {
  local deadline=$((SECONDS + 600))
  until "$@"; do
    if [[ "$SECONDS" -gt "$deadline" ]]; then fail "waited for $*"; fi
    sleep 0.2
  done
}

rows_at_least() { [[ "$(find "$1/rows" -name '*.jsonl' | wc -l)" -ge "$2" ]]; }
running_on() { [[ -n "$(squeue --noheader --states=R --nodelist="$1")" ]]; }
# in_the_middle NODE: a task there has rows that nobody has seen yet.
in_the_middle() { grep -rqs '"record":"row"' "$work/local/$1"; }

# No crops: four images are too few to measure what a copy of them takes.
transforms="$(bazel-bin/tools/plan/plan \
  --config=configs/native/rgb_micro_cpu.textproto --libraries=opencv |
  sed -n 's/.*"transform":"\([A-Za-z0-9]*\)".*/\1/p' | sort -u |
  grep -v Crop | sed 20q | paste -sd,)"

mkdir -p "$work"/local/n{1..4} "$work/cache"
mount -t tmpfs -o size=2m tmpfs "$work/local/n3"
cluster_start "$work/slurm" 4 || fail "Slurm did not start"
say "Slurm $(sinfo --version | cut -d' ' -f2) with 4 nodes is up"

# Arrays are as large as this Slurm takes, or plan is to make them smaller.
campaign="$work/wide"
emit "$campaign" 0,1,2,3,4 --task_s=1
said="$(make -s -C "$campaign" submit 2>&1)" && fail "an array was too large"
[[ "$said" == *"plan again with --array_limit=40"* ]] || fail "no remedy: $said"
rm -r "$campaign"
emit "$campaign" 0,1,2,3,4 --task_s=1 --array_limit=40
said="$("$campaign/submit.sh" --dry-run 2>/dev/null)" || fail "arrays of 40"
[[ "$(grep -c '^sbatch ' <<<"$said")" == 3 ]] || fail "not three arrays: $said"
rm -r "$campaign"

# 100 real jobs, with everything going wrong. Tasks on some nodes are held until
# it has gone wrong: however fast the machine, none has ended by then.
campaign="$work/campaign"
cat >"$work/container" <<END
#!/bin/bash
echo "\$SLURMD_NODENAME" >>"$work/contained"
hold() { while [[ -e "$work/hold/\$1.\$SLURMD_NODENAME" ]]; do sleep 0.1; done; }
hold before
if [[ ! -e "$work/hold/after.\$SLURMD_NODENAME" ]]; then exec "\${@:2}"; fi
status=0
"\${@:2}" || status=\$?
hold after
exit "\$status"
END
chmod +x "$work/container"
mkdir "$work/hold"
touch "$work"/hold/{after.n1,after.n2,before.n3,before.n4}
emit "$campaign" 0,1,2,3,4 --container="$work/container --like=apptainer"
make -s -C "$campaign" submit
[[ "$(make -s -C "$campaign" submit 2>&1)" == *" 0 arrays submitted" ]] ||
  fail "tasks were submitted twice"
wait_until in_the_middle n1
say "n1 loses its power"
kill_node n1
rm "$work/hold/after.n1"
wait_until running_on n3
say "the disk of n3 runs full"
cat /dev/zero >"$work/local/n3/filler" 2>/dev/null || true
wait_until running_on n4
say "the controller is killed and started again"
kill_controller
start_controller
# held: a task that Slurm would keep for ever. It is the one after that which n4
# has: a controller that is killed may forget that it holds one.
held() { [[ "$(squeue --noheader --array --format=%r)" == *"requeued held"* ]]; }
fail_start n4
rm "$work/hold/before.n4"
wait_until held
say "a task could not be started on n4, and is held"
resume_node n4
rm "$work/hold/before.n3"
wait_until rows_at_least "$campaign" 5
start_node n1
wait_until in_the_middle n2
say "n2 loses its power and comes back at once"
kill_node n2
rm "$work/hold/after.n2"
start_node n2
complete "$campaign"
expect_once "$campaign" 100
[[ "$(cat "$work"/collect.*)" == *"could not be started and is tried again"* ]] ||
  fail "nobody released the task that was held"
[[ "$(sort -u "$work/contained" | wc -l)" -ge 3 ]] ||
  fail "the container was not used on at least three nodes"
grep -rqs 'no room\|is full' "$campaign/logs" || fail "no disk was ever full"
restarts="$(scontrol show jobs |
  sed -n 's/.*Restarts=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')"
[[ "$restarts" -gt 0 ]] || fail "Slurm never queued a task again"
say "100 jobs, $restarts tasks queued again by Slurm, every row once"

# Time limits, and failures, with a runner that waits.
mkdir "$work/bin"
cp testdata/campaign/waiting_runner.py "$work/bin/micro"
ln -s "$REPO_ROOT/bazel-bin/tools/check_coverage/check_coverage" "$work/bin"
campaign="$work/limited"
emit "$campaign" 10,11
cat >>"$campaign/site.env" <<END
export FEEDRATE_BIN="$work/bin" WAIT_S=0.1 FAIL_ONCE="$work/failed"
export FEEDRATE_CONFIGS="$REPO_ROOT/configs" WAIT_FOR="$work/may_end"
END
mkdir "$work/failed"
make -s -C "$campaign" submit
# all_wait: every task that Slurm calls running has its first row, and waits.
all_wait() {
  local running
  running="$(squeue --noheader --array --states=R | wc -l)"
  [[ "$running" -gt 0 && -e "$work/may_end.waiting" &&
    "$(wc -l <"$work/may_end.waiting")" -ge "$running" ]]
}
# started_over: the task gets what Slurm sends when its time is nearly up, until
# it has been queued again. The exit status of scancel says nothing: it may fail
# because the signal has arrived and the task is on its way already.
started_over() {
  if [[ "$(scontrol show job "$id")" == *Restarts=[1-9]* ]]; then return 0; fi
  scancel --signal=USR1 --batch "$id" 2>/dev/null || true
  return 1
}
wait_until all_wait
id="$(squeue --noheader --array --states=R --format=%i | sed 1q)"
wait_until started_over
touch "$work/may_end"
timeout 900 make -s -C "$campaign" collect >"$work/collect.log" 2>&1 &&
  fail "failed rows were not noticed"
missing="$(wc -l <"$campaign/rerun.tasks")"
tasks="$(find "$campaign/tasks" -name '*.jsonl' | wc -l)"
[[ "$missing" -gt 0 && "$missing" -lt "$tasks" ]] ||
  fail "$missing of $tasks tasks to run again"
make -s -C "$campaign" resubmit
[[ "$(squeue --noheader --array | wc -l)" -le "$missing" ]] ||
  fail "more than the failed tasks were submitted again"
complete "$campaign"
expect_once "$campaign" 40
grep -q '"attempt":1' "$campaign"/rows/*.jsonl || fail "nothing ran again"
say "a task out of time carried on; $missing of $tasks tasks ran again, no other"
