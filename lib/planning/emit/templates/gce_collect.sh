#!/bin/bash
# Brings the rows of the current wave home, checks them, and starts the next wave
# when they are complete:
#
#   collect.sh [--run]
#
# Without --run it starts nothing and prints what it would start. Exit: 0 the
# wave is complete, and the next one was started or there is none; 3 it is over
# and not complete: what to run again is in rerun.jsonl, launch.sh WAVE --run
# TASK... starts it; 4 machines are still at work.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
source "$campaign/gce_common.sh"
cd "$campaign"
mkdir -p rows failed
run=()
if [[ "${1:-}" == --run ]]; then
  dry_run=""
  run=(--run)
fi

say() { echo "collect: $*" >&2; }

# state_of TASK: done, failed, working or lost.
state_of() {
  local machine=""
  # shellcheck source=/dev/null
  source "vm/$1.env"
  if [[ -e "rows/$1.jsonl" ]]; then
    echo "done"
    return
  fi
  # Asked first: a machine puts its marker into the bucket before it deletes
  # itself, so one that is gone has left what it had to leave.
  if gcloud compute instances describe "$INSTANCE" --project="$PROJECT" \
    --zone="$ZONE" --format='value(status)' >/dev/null 2>&1; then
    machine=1
  fi
  if is_there "$DONE_URI"; then
    if get "$ROWS_URI" "rows/$1.jsonl" >&2; then echo "done"; else echo lost; fi
  elif is_there "$FAILED_URI"; then
    get "$EXIT_CODE_URI" "failed/$1" >&2 || true
    get "$LOG_URI" "failed/$1.log" >&2 || true
    echo failed
  elif [[ -n "$machine" ]]; then
    echo working
  else
    # Taken away, or never started. What it had measured is in the bucket, and
    # another machine carries on with it.
    echo lost
  fi
}

# cost: what the machines so far have cost, at the prices of the quota file.
cost() {
  local env task hours=0 sum=0 unpriced=0 seconds
  mkdir -p usage
  for env in vm/*.env; do
    task="$(basename "$env" .env)"
    # shellcheck source=/dev/null
    source "$env"
    is_there "$MACHINE_S_URI" || continue
    get "$MACHINE_S_URI" "usage/$task" || continue
    seconds="$(cat "usage/$task")"
    if [[ ! "$seconds" =~ ^[0-9]{1,12}$ ]]; then
      say "$task: $MACHINE_S_URI holds no number, so its hours are not counted"
      continue
    fi
    if [[ -z "$PRICE_PER_HOUR" ]]; then unpriced=$((unpriced + 1)); fi
    read -r hours sum < <(awk -v h="$hours" -v s="$sum" -v t="$seconds" \
      -v p="${PRICE_PER_HOUR:-0}" \
      'BEGIN { printf "%.6f %.6f\n", h + t / 3600, s + p * t / 3600 }')
  done
  if [[ "$unpriced" -gt 0 ]]; then
    say "$(printf '%.2f machine hours; %d machines have no price in the quota file' \
      "$hours" "$unpriced")"
  else
    say "$(printf '%.2f machine hours, which cost %.2f' "$hours" "$sum")"
  fi
}

# The first wave that is not complete.
wave=1
while [[ -e "waves/$wave.complete" ]]; do wave=$((wave + 1)); done
if [[ ! -e "waves/$wave.tasks" ]]; then
  say "every wave is complete"
  cost
  exec ./check.sh
fi

working=0
open=()
while IFS= read -r task; do
  state="$(state_of "$task")"
  case "$state" in
    working) working=$((working + 1)) ;;
    failed | lost)
      say "$task: $state"
      open+=("$task")
      ;;
  esac
done < <(tasks_of "$wave")
if [[ "$working" -gt 0 ]]; then
  say "wave $wave: $working machines at work"
  exit 4
fi

status=0
"$(program check_coverage)" --plan="waves/$wave.jsonl" rows || status=$?
if [[ "$status" -ne 0 ]]; then
  "$(program check_coverage)" --plan="waves/$wave.jsonl" --fix=jobs rows \
    >rerun.jsonl || true
  say "wave $wave is not complete; jobs to run again are in rerun.jsonl"
  if [[ ${#open[@]} -gt 0 ]]; then
    say "start them with: ./launch.sh $wave --run ${open[*]}"
  fi
  exit 3
fi
next=$((wave + 1))
if [[ ! -e "waves/$next.tasks" ]]; then
  say "wave $wave is complete, and it was the last"
  touch "waves/$wave.complete"
  cost
  exec ./check.sh
fi
say "wave $wave is complete; starting wave $next"
./launch.sh "$next" "${run[@]}"
if [[ -z "$dry_run" ]]; then touch "waves/$wave.complete"; fi
