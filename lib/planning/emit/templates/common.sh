# Sourced by the scripts of a campaign: what it is, where its programs are, and
# what this cluster is like. Your own settings go into site.env, which is read
# last:
#
#   LOCAL=/scratch/$USER             disk of a node, for a private folder with
#                                    rows and data
#   DATA=/datasets                   folder with the archives of the configs
#   RUNNER_FLAGS=(--skip_missing)    for micro and its like
#   SBATCH_FLAGS=(--partition=cpu)   for sbatch
# shellcheck shell=bash

# shellcheck source=/dev/null
source "${campaign:?}/campaign.env"
LOCAL="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"
DATA="${FEEDRATE_DATA:-}"
RUNNER_FLAGS=()
SBATCH_FLAGS=()
POLL_S=30
if [[ -e "$campaign/site.env" ]]; then
  # shellcheck source=/dev/null
  source "$campaign/site.env"
fi
export LOCAL RUNNER_FLAGS SBATCH_FLAGS POLL_S

# program NAME: its path: of $FEEDRATE_BIN, of the bundle or build tree that
# planned this, else whatever is in PATH.
program() {
  local path
  for path in "${FEEDRATE_BIN:-$BIN}/$1" "$BIN/../$1/$1"; do
    if [[ -x "$path" ]]; then
      echo "$path"
      return
    fi
  done
  echo "$1"
}

# stage FOLDER: puts the task's data set on the disk of FOLDER where there is an
# archive of it, and points DATASET there.
stage() {
  if [[ -z "$DATA" || -z "$ARCHIVE" ]]; then return 0; fi
  DATASET="$1/data/$DATASET_ID"
  "$(program stage_dataset)" --source="$DATA/$ARCHIVE" --dest="$DATASET" \
    ${ARCHIVE_BYTES:+"--expected-bytes=$ARCHIVE_BYTES"}
}

# done_tasks, task_names: one a line, sorted.
done_tasks() { names_in rows; }
task_names() { names_in tasks; }
names_in() {
  find "$campaign/$1" -maxdepth 1 -name '[!.]*.jsonl' -printf '%f\n' \
    2>/dev/null | sed 's/\.jsonl$//' | LC_ALL=C sort
}
