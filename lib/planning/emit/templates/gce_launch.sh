#!/bin/bash
# Starts the machines of one wave:
#
#   launch.sh WAVE [--run] [TASK...]
#
# Without --run it prints the commands. Tasks that have their rows, or whose
# machine is there, are passed over, so it may be started again.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
source "$campaign/gce_common.sh"
cd "$campaign"

wave="${1:?usage: launch.sh WAVE [--run] [TASK...]}"
shift
if [[ "${1:-}" == --run ]]; then
  dry_run=""
  shift
fi
[[ -e "waves/$wave.tasks" ]] || {
  echo "launch: there is no wave $wave" >&2
  exit 1
}
tasks=("$@")
if [[ ${#tasks[@]} -eq 0 ]]; then mapfile -t tasks < <(tasks_of "$wave"); fi

# machine_is_there: of the task whose settings are read.
machine_is_there() {
  gcloud compute instances describe "$INSTANCE" --project="$PROJECT" \
    --zone="$ZONE" --format='value(status)' >/dev/null 2>&1
}

# create: the machine of the task whose settings are read.
create() {
  local command=(gcloud compute instances create "$INSTANCE"
    --project="$PROJECT" --zone="$ZONE" --machine-type="$MACHINE_TYPE"
    --image-family="$IMAGE_FAMILY" --image-project="$IMAGE_PROJECT"
    --boot-disk-size="${DISK_SIZE_GB}GB" --scopes=cloud-platform
    --labels="feedrate-campaign=$CAMPAIGN_ID,feedrate-task=$TASK"
    --metadata-from-file="startup-script=./vm/$TASK.sh" --quiet)
  if [[ -n "$BOOT_DISK_TYPE" ]]; then
    command+=(--boot-disk-type="$BOOT_DISK_TYPE")
  fi
  # A machine with a GPU cannot be moved while it runs; for one that may be taken
  # away the cloud takes no such option.
  if [[ -n "$PREEMPTIBLE" ]]; then
    command+=(--provisioning-model=SPOT)
  elif [[ -n "$HAS_GPU" ]]; then
    command+=(--maintenance-policy=TERMINATE)
  fi
  # The cloud's own clock, for a machine that hangs.
  if [[ -n "$MACHINE_LIMIT_S" ]]; then
    command+=(--max-run-duration="${MACHINE_LIMIT_S}s")
  fi
  if [[ -n "$PREEMPTIBLE$MACHINE_LIMIT_S" ]]; then
    command+=(--instance-termination-action=DELETE)
  fi
  touch_cloud "${command[@]}"
}

if ! is_there "$BUNDLE_URI"; then put "$BUNDLE" "$BUNDLE_URI"; fi
for task in "${tasks[@]}"; do
  if [[ -e "rows/$task.jsonl" ]]; then continue; fi
  # shellcheck source=/dev/null
  source "vm/$task.env"
  if [[ -z "$dry_run" ]] && machine_is_there; then
    echo "launch: $task: $INSTANCE is there" >&2
    continue
  fi
  put "tasks/$task.jsonl" "$JOBS_URI"
  put "vm/$task.sh" "$BOOTSTRAP_URI"
  for marker in "$DONE_URI" "$FAILED_URI"; do
    if is_there "$marker"; then remove "$marker"; fi
  done
  create
done
if [[ -n "$dry_run" ]]; then
  echo "launch: nothing was done; --run does it" >&2
fi
