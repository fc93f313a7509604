#!/bin/bash
# Start-up script of one machine: fetches the bundle and the data set, runs one
# task, brings its rows to the bucket, says how it went, and deletes the machine.
# It may be started again at any time, here or on a new machine: what is done is
# not done again. Where a bucket is a file:// folder it all stays on this disk.
#
# In the run's folder of the bucket, in this order: rows, log, run_meta.json,
# exit_code.txt, and last of all DONE or FAILED.
#
# FEEDRATE_WORK is another folder than /var/lib/feedrate; FEEDRATE_FOREGROUND=1
# waits for the end.
# shellcheck disable=SC2034  # Some settings are for launch.sh.
set -uo pipefail

# @SETTINGS@

work="${FEEDRATE_WORK:-/var/lib/feedrate}/$RUN_ID"
bundle="$work/bundle"
rows="$work/rows.jsonl"
log="$work/vm.log"
# Environments hold absolute paths, so they are at the same place everywhere.
export XDG_CACHE_HOME="${FEEDRATE_WORK:-/var/lib/feedrate}/cache"
export HOME="${HOME:-/root}"

say() { echo "$(date -u +%FT%TZ) bootstrap: $*" >&2; }

# with_tries COMMAND...: as often as the policy says.
with_tries() {
  local try
  for try in $(seq "$TRIES"); do
    if timeout "$COMMAND_LIMIT_S" "$@"; then return 0; fi
    say "try $try of $TRIES failed: $1 $2"
    sleep "$TRY_INTERVAL_S"
  done
  return 1
}

# copy_object FROM TO: either may be in a bucket. A file appears whole.
copy_object() {
  local from="$1" to="$2"
  if [[ "$from" == gs://* || "$to" == gs://* ]]; then
    gcloud storage cp --no-user-output-enabled -- "$from" "$to"
    return
  fi
  from="${from#file://}"
  to="${to#file://}"
  mkdir -p -- "$(dirname -- "$to")" && cp -- "$from" "$to.new.$$" &&
    mv -f -- "$to.new.$$" "$to" && return 0
  rm -f -- "$to.new.$$"
  return 1
}
export -f copy_object

fetch() { with_tries bash -c 'copy_object "$@"' fetch "$1" "$2"; }
store() { with_tries bash -c 'copy_object "$@"' store "$1" "$2"; }

# is_there URI
is_there() {
  if [[ "$1" == gs://* ]]; then
    gcloud storage ls -- "$1" >/dev/null 2>&1
  else
    [[ -e "${1#file://}" ]]
  fi
}

# The bundle, unpacked; what a start that died left behind is thrown away.
get_bundle() {
  if [[ -e "$bundle/.whole" ]]; then return 0; fi
  rm -rf -- "$bundle" "$work/bundle.tar.gz"
  local try
  for try in 1 2 3; do
    fetch "$BUNDLE_URI" "$work/bundle.tar.gz" || return 1
    if [[ "$(sha256sum <"$work/bundle.tar.gz")" == "$BUNDLE_SHA256 "* ]]; then
      mkdir -p -- "$bundle" &&
        tar -xzf "$work/bundle.tar.gz" -C "$bundle" --strip-components=1 &&
        touch "$bundle/.whole" && rm -f -- "$work/bundle.tar.gz"
      return
    fi
    say "the bundle is not the one that was planned with (try $try)"
  done
  return 1
}

get_data() {
  if [[ -z "$ARCHIVE_URI" ]]; then return 0; fi
  DATASET="$work/data/$DATASET_ID"
  "$bundle/bin/stage_dataset" --source="$ARCHIVE_URI" --dest="$DATASET" \
    ${ARCHIVE_BYTES:+"--expected-bytes=$ARCHIVE_BYTES"}
}

# Python environments: from the cache in the bucket, or made and put there.
get_environments() {
  if [[ ${#ENV_GROUPS[@]} -eq 0 ]]; then return 0; fi
  mkdir -p -- "$XDG_CACHE_HOME/feedrate"
  if [[ -z "$NO_ENV_CACHE$REBUILD_ENV_CACHE" ]] && is_there "$ENV_CACHE_URI"; then
    if fetch "$ENV_CACHE_URI" "$work/envs.tar.gz" &&
      tar -xzf "$work/envs.tar.gz" -C "$XDG_CACHE_HOME/feedrate"; then
      rm -f -- "$work/envs.tar.gz"
      return 0
    fi
    say "the cache of environments cannot be used; making them"
    rm -rf -- "$work/envs.tar.gz" "$XDG_CACHE_HOME/feedrate/venvs"
  fi
  # Debian has the module venv without what it needs.
  if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    with_tries apt-get update -qq &&
      with_tries apt-get install --yes -qq python3-venv || return 1
  fi
  ENV_SET="$ENV_SET" "$bundle/bin/feedrate" envs "${ENV_GROUPS[@]}" || return 1
  if [[ -n "$NO_ENV_CACHE" ]]; then return 0; fi
  tar -czf "$work/envs.tar.gz" -C "$XDG_CACHE_HOME/feedrate" venvs &&
    store "$work/envs.tar.gz" "$ENV_CACHE_URI"
  # Without the cache the next machine takes longer, and that is all.
  rm -f -- "$work/envs.tar.gz"
  return 0
}

# What an earlier machine has measured, and how long it existed.
get_rows() {
  local boot
  boot="$(cat /proc/sys/kernel/random/boot_id)"
  if [[ "$(cat "$work/boot_id" 2>/dev/null)" != "$boot" ]]; then
    if is_there "$MACHINE_S_URI"; then
      fetch "$MACHINE_S_URI" "$work/machine_s_before" || return 1
    fi
    echo "$boot" >"$work/boot_id"
  fi
  if [[ -s "$rows" ]] || ! is_there "$ROWS_URI"; then return 0; fi
  fetch "$ROWS_URI" "$rows"
}

# Seconds of this machine so far, after those of earlier ones.
sync_machine_s() {
  local before uptime
  before="$(cat "$work/machine_s_before" 2>/dev/null)"
  # From the bucket, and arithmetic runs commands that it finds in a text.
  [[ "$before" =~ ^[0-9]{1,12}$ ]] || before=0
  read -r uptime _ </proc/uptime
  echo "$((10#$before + ${uptime%.*}))" >"$work/machine_s"
  store "$work/machine_s" "$MACHINE_S_URI"
}

sync_rows() {
  sync_machine_s
  if [[ -s "$rows" ]]; then store "$rows" "$ROWS_URI"; fi
  store "$log" "$LOG_URI"
}

run_task() {
  local status=0 runner
  fetch "$JOBS_URI" "$work/jobs.jsonl" || return 1
  timeout --kill-after=60 "$TIME_LIMIT_S" \
    "$bundle/bin/$TOOL" --jobs="$work/jobs.jsonl" --output="$rows" --resume \
    ${DATASET:+"--dataset=$DATASET"} ${SUBJECTS:+"--subject=$SUBJECTS"} \
    ${PYTHON:+"--python=$PYTHON"} </dev/null &
  runner=$!
  while kill -0 "$runner" 2>/dev/null; do
    # Not a sleep of the whole interval: the end is not to wait for it.
    for _ in $(seq "$SYNC_S"); do
      kill -0 "$runner" 2>/dev/null || break
      sleep 1
    done
    if kill -0 "$runner" 2>/dev/null; then sync_rows; fi
  done
  wait "$runner" || status=$?
  return "$status"
}

# finish STATUS STEP: tells the bucket, and goes.
finish() {
  local marker="$DONE_URI" other="$FAILED_URI"
  if [[ "$1" -ne 0 ]]; then
    marker="$FAILED_URI" other="$DONE_URI"
    say "failed in step $2 with exit status $1"
  fi
  sync_rows
  printf '{"run_id":"%s","task":"%s","instance":"%s","step":"%s",%s}\n' \
    "$RUN_ID" "$TASK" "$INSTANCE" "$2" \
    "\"exit_code\":$1,\"ended_at\":\"$(date -u +%FT%TZ)\"" >"$work/run_meta.json"
  echo "$1" >"$work/exit_code.txt"
  echo "$2" >"$work/marker"
  if ! { store "$work/run_meta.json" "$META_URI" &&
    store "$work/exit_code.txt" "$EXIT_CODE_URI" &&
    store "$work/marker" "$marker"; }; then
    # Nobody knows that it is over: keep the machine, to be looked at.
    say "the bucket does not take the end of the story; keeping the machine"
    return 1
  fi
  if is_there "$other"; then remove "$other"; fi
  if [[ "$1" -eq 0 ]]; then echo DONE >"$work/status"; fi
  if [[ "$1" -ne 0 && -n "$KEEP_ON_FAILURE" ]] || [[ -n "$KEEP" ]]; then
    say "the machine is kept"
    return 0
  fi
  gcloud compute instances delete "$INSTANCE" --project="$PROJECT" \
    --zone="$ZONE" --quiet
}

remove() {
  if [[ "$1" == gs://* ]]; then
    gcloud storage rm --no-user-output-enabled -- "$1"
  else
    rm -f -- "${1#file://}"
  fi
}

main() {
  local step status=0
  # One at a time: the start-up script runs again after each boot, and a runner
  # that outlived its script still writes rows.
  exec 9>"$work/lock"
  flock -n 9 || { say "waits for the one that is running"; flock 9; }
  if [[ "$(cat "$work/status" 2>/dev/null)" == DONE ]]; then
    say "is done already"
    return 0
  fi
  say "task $TASK, run $RUN_ID"
  for step in get_bundle get_data get_environments get_rows run_task; do
    say "$step"
    "$step" || { status=$?; break; }
  done
  finish "$status" "$step"
  return "$status"
}

mkdir -p -- "$work" || exit 1
if [[ -n "${FEEDRATE_FOREGROUND:-}" ]]; then
  main 2>&1 | tee -a -- "$log" >&2
  exit "${PIPESTATUS[0]}"
fi
if [[ "${1:-}" == --detached ]]; then
  main >>"$log" 2>&1
  exit
fi
# The machine's own start-up must not wait for hours.
setsid bash "${BASH_SOURCE[0]}" --detached </dev/null >/dev/null 2>&1 &
