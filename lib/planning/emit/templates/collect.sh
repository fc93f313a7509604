#!/bin/bash
# Waits until nothing of this campaign is in the queue, gathers the rows, checks
# them, and prints what to run again. What the queue did not take at first is
# submitted while it waits.
#
# Exit: that of check.sh.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
source "$campaign/common.sh"
cd "$campaign"

# in_queue: how many tasks; fails where Slurm does not answer.
in_queue() {
  squeue --noheader --array --me --format=%j |
    awk -v start="$CAMPAIGN_ID-" 'index($0, start) == 1 { n++ } END { print n + 0 }'
}

# Slurm holds a task whose node was lost while it was being started, and would
# keep it for ever. A task whose start fails again and again stays held.
most_releases=5
declare -A releases=()
release_held() {
  local task held=()
  mapfile -t held < <(squeue --noheader --array --me --states=PENDING \
    --format='%j %i %r' 2>/dev/null |
    awk -v start="$CAMPAIGN_ID-" 'index($0, start) == 1 &&
      /launch.failed.requeued.held/ { print $2 }')
  for task in "${held[@]}"; do
    releases[$task]=$((${releases[$task]:-0} + 1))
    if ((releases[$task] <= most_releases)); then
      echo "collect: task $task could not be started and is tried again" >&2
      scontrol release "$task" || true
    elif ((releases[$task] == most_releases + 1)); then
      echo "collect: task $task could not be started $most_releases times; see" \
        "'scontrol show job $task', then 'scontrol release $task' or 'scancel" \
        "$task'" >&2
    fi
  done
}

last=""
while :; do
  # A controller that is being restarted is waited for like a task.
  left="$(in_queue 2>/dev/null)" || left="?"
  if [[ "$left" == 0 ]]; then break; fi
  if [[ "$left" != "$last" ]]; then
    echo "collect: $left tasks in the queue, $(done_tasks | wc -l) of" \
      "$(task_names | wc -l) done" >&2
  fi
  last="$left"
  release_held
  sleep "$POLL_S"
done
find rows partial -name '.*' -type f -delete 2>/dev/null || true
exec ./check.sh
