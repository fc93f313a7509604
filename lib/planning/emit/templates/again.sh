#!/bin/bash
# Makes the tasks that check.sh named ready to run again. Their rows move to
# partial/, so that what is done stays done, and what failed gets another
# attempt.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$campaign"
mkdir -p partial
if [[ ! -e rerun.tasks ]]; then
  echo "again.sh: run check.sh first: it says what is missing" >&2
  exit 1
fi
while IFS= read -r task; do
  if [[ -e "rows/$task.jsonl" ]]; then
    mv -f -- "rows/$task.jsonl" "partial/$task.jsonl"
  fi
done <rerun.tasks
