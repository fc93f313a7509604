#!/bin/bash
# Runs this campaign, one task after the other:
#
#   run.sh          what is not done yet
#   run.sh TASK...  only these
#
# It may be stopped and started at any time. A task that fails does not stop the
# others. Exit: 0 all are done, 2 some are not, 130 interrupted.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
source "$campaign/common.sh"

child=""
trap 'trap - INT TERM; if [[ -n "$child" ]]; then
        kill -TERM "$child" 2>/dev/null; wait "$child"; fi; exit 130' INT TERM

if [[ $# -gt 0 ]]; then
  tasks=("$@")
else
  mapfile -t tasks < <(LC_ALL=C comm -23 <(task_names) <(done_tasks))
fi
failed=0
at=0
for task in "${tasks[@]}"; do
  at=$((at + 1))
  echo "run: task $at of ${#tasks[@]}: $task" >&2
  "$campaign/run_task.sh" "$task" &
  child=$!
  wait "$child" || failed=$((failed + 1))
  child=""
done
if [[ "$failed" -gt 0 ]]; then
  echo "run: $failed of ${#tasks[@]} tasks failed; run.sh tries them again" >&2
  exit 2
fi
