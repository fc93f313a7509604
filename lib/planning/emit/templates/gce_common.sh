# Sourced by launch.sh and collect.sh: settings of the campaign, and how to touch
# the cloud. Nothing does so unless --run was given: commands are printed.
# shellcheck shell=bash

# shellcheck source=/dev/null
source "${campaign:?}/common.sh"
# shellcheck source=/dev/null
source "$campaign/gce.env"
dry_run=1

# touch_cloud COMMAND...: runs what changes something, or prints it.
touch_cloud() {
  if [[ -n "$dry_run" ]]; then
    printf '%q ' "$@"
    echo
  else
    timeout "$COMMAND_LIMIT_S" "$@"
  fi
}

# put FILE URI, get URI FILE: the file appears whole.
put() {
  if [[ "$2" == gs://* ]]; then
    touch_cloud gcloud storage cp --no-user-output-enabled -- "$1" "$2"
  else
    touch_cloud install -D -m 644 -- "$1" "${2#file://}"
  fi
}
get() {
  local new
  new="$(dirname "$2")/.$(basename "$2").$$"
  if [[ "$1" == gs://* ]]; then
    gcloud storage cp --no-user-output-enabled -- "$1" "$new"
  else
    cp -- "${1#file://}" "$new"
  fi && mv -f -- "$new" "$2" && return 0
  rm -f -- "$new"
  return 1
}
is_there() {
  if [[ "$1" == gs://* ]]; then
    gcloud storage ls -- "$1" >/dev/null 2>&1
  else
    [[ -e "${1#file://}" ]]
  fi
}
remove() {
  if [[ "$1" == gs://* ]]; then
    touch_cloud gcloud storage rm --no-user-output-enabled -- "$1"
  else
    touch_cloud rm -f -- "${1#file://}"
  fi
}

# tasks_of WAVE: names, one a line.
tasks_of() { cat "$campaign/waves/$1.tasks"; }
