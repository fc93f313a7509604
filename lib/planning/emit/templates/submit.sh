#!/bin/bash
# Submits this campaign to Slurm:
#
#   submit.sh            the tasks that are neither done nor in the queue
#   submit.sh --dry-run  prints the commands instead
#   submit.sh --status   counts tasks
#   submit.sh --cancel   takes the campaign out of the queue
#
# One array for each wave and kind of machine, in the order of the waves. It may
# be started as often as you like: nothing is submitted twice.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
source "$campaign/common.sh"
cd "$campaign"
mkdir -p rows partial failed logs
action="${1:-}"

say() { echo "submit: $*" >&2; }

# queued ARRAY: numbers of its tasks that are in the queue, sorted.
queued() {
  squeue --noheader --array --me --name="$1" --format=%K | tr -d ' ' |
    LC_ALL=C sort
}

# missing ARRAY: numbers of its tasks that have no rows yet, sorted.
missing() {
  local number=0 task
  while IFS= read -r task; do
    if [[ ! -e "rows/$task.jsonl" ]]; then echo "$number"; fi
    number=$((number + 1))
  done <"arrays/$1.tasks" | LC_ALL=C sort
}

# as_ranges: numbers on standard input as 0-3,7.
as_ranges() {
  sort -n | awk 'NR == 1 { first = last = $1; next }
    $1 == last + 1 { last = $1; next }
    { add(); first = last = $1 }
    END { if (NR) { add(); print text } }
    function add() {
      text = text (text == "" ? "" : ",") first (last > first ? "-" last : "")
    }'
}

largest_array="$(scontrol show config |
  sed -n 's/^MaxArraySize *= *\([0-9]*\).*/\1/p')"
all=0 done=0 waiting=0 submitted=0
for file in arrays/*.sbatch; do
  array="$(basename "$file" .sbatch)"
  tasks="$(wc -l <"arrays/$array.tasks")"
  if [[ -n "$largest_array" && "$tasks" -ge "$largest_array" ]]; then
    say "$array has $tasks tasks and this Slurm takes $((largest_array - 1))" \
      "in an array; plan again with --array_limit=$((largest_array - 1))"
    exit 1
  fi
  # Asked first: a task that ends in between is then still in the queue for us.
  in_queue="$(queued "$array")" || { say "squeue failed"; exit 2; }
  open="$(missing "$array")"
  ranges="$(LC_ALL=C comm -23 <(sed '/^$/d' <<<"$open") \
    <(sed '/^$/d' <<<"$in_queue") | as_ranges)"
  all=$((all + tasks))
  done=$((done + tasks - $(grep -c . <<<"$open" || true)))
  waiting=$((waiting + $(grep -c . <<<"$in_queue" || true)))
  if [[ "$action" == --cancel ]]; then
    scancel --me --name="$array"
    continue
  fi
  if [[ -z "$ranges" || "$action" == --status ]]; then continue; fi
  command=(sbatch --parsable --chdir="$campaign" --array="$ranges"
    "${SBATCH_FLAGS[@]}" "$file")
  if [[ "$action" == --dry-run ]]; then
    printf '%q ' "${command[@]}"
    echo
  elif id="$("${command[@]}")"; then
    submitted=$((submitted + 1))
    say "$array: tasks $ranges as job ${id%%;*}"
  else
    say "the queue takes no more; run submit.sh again when some are done"
    break
  fi
done
say "$all tasks: $done done, $waiting in the queue before;" \
  "$submitted arrays submitted"
