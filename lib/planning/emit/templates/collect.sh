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
  sleep "$POLL_S"
done
find rows partial -name '.*' -type f -delete 2>/dev/null || true
exec ./check.sh
