#!/bin/bash
# Runs one task of this campaign and brings its rows home:
#
#   run_task.sh TASK
#
# Rows are written to a private folder on a disk of this machine and arrive in
# rows/TASK.jsonl whole or not at all, and once. Whatever ends it half-way (a signal, a time limit, the
# power of the node), another start carries on: what was saved in partial/ is not
# measured again. Where the disk of the machine has no room, or runs full, the
# campaign's own folder is used instead.
#
# Exit: 0 the rows are in rows/; 75 this machine cannot do it, another may; else
# what the program under it said.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
task="$1"
# shellcheck source=/dev/null
source "$campaign/tasks/$task.env"
# shellcheck source=/dev/null
source "$campaign/common.sh"
host="${SLURMD_NODENAME:-$(hostname)}"
target="$campaign/rows/$task.jsonl"
saved="$campaign/partial/$task.jsonl"

say() { echo "run_task: $task on $host: $*" >&2; }

# size_of FILE: 0 where it is not there.
size_of() { stat -c %s -- "$1" 2>/dev/null || echo 0; }

# is_private FOLDER: it is ours, and nobody else can look into it or change it.
is_private() {
  [[ -d "$1" && ! -L "$1" && -O "$1" && "$(stat -c %a -- "$1")" == *700 ]]
}

# local_folder: prints a private folder below LOCAL, the same one at every start
# on this machine. Its name is random, because another user may have put a folder
# or a link under any name that can be guessed; local/ in the campaign's folder
# remembers it.
local_folder() {
  local note folder mode
  note="$campaign/local/$host.$(cksum <<<"$LOCAL" | cut -d ' ' -f 1)"
  mkdir -p -- "$LOCAL" "$campaign/local" 2>/dev/null || return 1
  mode="$(stat -L -c %a -- "$LOCAL")" || return 1
  if (((8#$mode & 8#1002) == 8#0002)); then
    say "any user can replace folders in $LOCAL; set another LOCAL in site.env"
    return 1
  fi
  for _ in 1 2 3; do
    folder="$(cat -- "$note" 2>/dev/null || true)"
    # Only what is named as below: a note that others wrote leads nowhere else.
    if [[ "$folder" == "$LOCAL/$CAMPAIGN_ID".* &&
      "${folder#"$LOCAL/"}" != */* ]]; then
      if is_private "$folder"; then
        echo "$folder"
        return 0
      fi
      if [[ -e "$folder" || -L "$folder" ]]; then
        say "$folder is not a private folder of this user; making another one"
      fi
    fi
    if [[ -n "$folder" ]]; then rm -f -- "$note"; fi
    folder="$(mktemp -d -- "$LOCAL/$CAMPAIGN_ID.XXXXXXXXXX" 2>/dev/null)" ||
      return 1
    # If two tasks start together, both use the folder of the first.
    { echo "$folder" >"$note.$BASHPID" && ln -- "$note.$BASHPID" "$note"; } \
      2>/dev/null || rmdir -- "$folder"
    rm -f -- "$note.$BASHPID"
  done
  return 1
}

# usable FOLDER: it is there, or can be made, and has room for rows. The probe
# has one name for all: those that are killed must not fill the disk with theirs.
usable() {
  local status=0
  mkdir -p -- "$1" 2>/dev/null || return 1
  head -c 500000 /dev/zero 2>/dev/null >"$1/.probe" || status=1
  rm -f -- "$1/.probe"
  return "$status"
}

# copy FROM TO: TO appears whole or not at all, and is on the disk.
copy() {
  local new
  new="$(dirname "$2")/.$task.$host.$BASHPID"
  if cp -- "$1" "$new" && sync -- "$new" && mv -f -- "$new" "$2"; then
    return 0
  fi
  rm -f -- "$new"
  return 1
}

# save ROWS: what is measured so far goes to where other machines find it.
save() {
  if [[ "$(size_of "$1")" -gt "$(size_of "$saved")" ]]; then
    copy "$1" "$saved" || say "could not save $1"
  fi
}

# save_often ROWS: until it is killed, and its sleep with it.
save_often() {
  trap 'kill "$!" 2>/dev/null; exit 0' TERM
  while :; do
    sleep "$CHECKPOINT_S" &
    wait "$!"
    save "$1"
  done
}

# whole ROWS: every run of every job of the task has its row. The program said so
# when it ended well, but of the file that it had open: that may be gone by now,
# and another one under its name. A row that stopped early, or is unsupported,
# answers for all runs of its job.
whole() {
  awk 'function value(key, at, rest) {
         at = index($0, "\"" key "\":")
         rest = substr($0, at + length(key) + 3)
         sub(/^[ "[]*/, "", rest)
         sub(/["\]}].*/, "", rest)
         return rest
       }
       of_rows && /"record":"row"/ {
         have[value("job_id") " " value("run_index") + 0] = 1
         if (value("status") ~ /^(early_stopped|unsupported)$/) {
           answered[value("job_id")] = 1
         }
       }
       !of_rows {
         count = split(value("run_indexes"), runs, ",")
         for (i = 1; i <= count; i++) {
           job = value("job_id")
           if (!(job in answered) && !((job " " runs[i] + 0) in have)) exit 1
         }
       }' of_rows=1 "$1" of_rows=0 "$campaign/tasks/$task.jsonl"
}

# publish ROWS: a link is made once, so of two machines that finish the same
# task the first one's rows count and nothing is there twice.
publish() {
  local new="$campaign/rows/.$task.$host.$$"
  if cp -- "$1" "$new" && whole "$new" && sync -- "$new"; then
    ln -- "$new" "$target" 2>/dev/null || [[ -e "$target" ]] ||
      mv -n -- "$new" "$target"
  fi
  rm -f -- "$new"
  [[ -e "$target" ]] || return 1
  sync -- "$campaign/rows"
  rm -f -- "$saved" "$campaign/failed/$task"
}

# take_over ROWS: starts from what another start has saved, where that is more.
take_over() {
  if [[ "$(size_of "$saved")" -gt "$(size_of "$1")" ]]; then
    cp -- "$saved" "$1"
  fi
}

runner=""
stopped=""
trap 'stopped=1
  if [[ -n "$runner" ]]; then kill -TERM "$runner" 2>/dev/null; fi' TERM INT

# wait_for PID: its exit status, whatever signals come in between.
wait_for() {
  local status
  while :; do
    status=0
    wait "$1" || status=$?
    if [[ "$status" -le 128 ]] || ! kill -0 "$1" 2>/dev/null; then break; fi
  done
  return "$status"
}

# run_in FOLDER: the task, with its rows below FOLDER.
run_in() {
  local rows="$1/$task.jsonl" status=0 saver launch=()
  # One at a time: the rows of a start that was killed may still be written by
  # the program that it left behind.
  exec 9>"$1/$task.lock"
  flock -w 3600 9 || return 75
  if [[ -e "$target" ]]; then return 0; fi
  take_over "$rows" || return 75
  if [[ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ]]; then
    launch=(srun --kill-on-bad-exit)
  fi
  "${launch[@]}" "${CONTAINER[@]}" "$(program "$TOOL")" --jobs="$campaign/tasks/$task.jsonl" \
    --output="$rows" --resume ${DATASET:+"--dataset=$DATASET"} \
    ${SUBJECTS:+"--subject=$SUBJECTS"} ${PYTHON:+"--python=$PYTHON"} \
    "${RUNNER_FLAGS[@]}" </dev/null &
  runner=$!
  save_often "$rows" 9>&- >/dev/null &
  saver=$!
  wait_for "$runner" || status=$?
  runner=""
  kill "$saver" 2>/dev/null || true
  wait "$saver" 2>/dev/null || true
  if [[ "$status" -eq 0 && -z "$stopped" ]] && publish "$rows"; then
    rm -f -- "$rows" "$1/$task.lock"
    return 0
  fi
  save "$rows"
  if [[ "$status" -eq 0 ]]; then status=75; fi
  return "$status"
}

if [[ -e "$target" ]]; then exit 0; fi
mkdir -p -- "$campaign"/{rows,partial,failed}
status=75
for folder in "$(local_folder || true)" "$campaign/work/$host"; do
  if [[ -z "$folder" ]] || ! usable "$folder"; then
    say "no room in ${folder:-$LOCAL}"
    continue
  fi
  status=0
  stage "$folder" || status=75
  if [[ "$status" -eq 0 ]]; then run_in "$folder" || status=$?; fi
  if [[ "$status" -eq 0 || -n "$stopped" ]] || usable "$folder"; then break; fi
  say "the disk of $folder is full"
done
if [[ "$status" -ne 0 && -z "$stopped" ]]; then
  say "failed with exit status $status"
  echo "$host $status" >"$campaign/failed/$task" || true
fi
exit "$status"
