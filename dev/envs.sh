#!/bin/bash
# Makes the Python environments of the libraries under test: one per lock file
# under configs/requirements/<set>/, unless it exists. Groups whose lock says
# `# optional` are made only if they are named.
#
#   dev/envs.sh                              the groups of the set `paper`
#   ENV_SET=current dev/envs.sh              another set
#   GROUPS_WANTED="pillow" dev/envs.sh       only some groups
#
# Prints one line per environment: GROUP<tab>PATH.
set -euo pipefail
# In a checkout dev/, in a bundle libexec/.
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=dev/common.sh
source "$here/common.sh"

set_name="${ENV_SET:-paper}"
folder="$REPO_ROOT/configs/requirements/$set_name"
[[ -d "$folder" ]] ||
  die "no environment set $set_name; there are:" \
    "$(cd "$REPO_ROOT/configs/requirements" && echo *)"

all=()
usual=()
for lock in "$folder"/*.lock; do
  group="$(basename "$lock" .lock)"
  all+=("$group")
  grep -q '^# optional' "$lock" || usual+=("$group")
done
# GROUPS is a variable of bash's own, so make hands it over under this name.
read -ra groups <<<"${GROUPS_WANTED:-${usual[*]}}"

for group in "${groups[@]}"; do
  lock="$folder/$group.lock"
  [[ -f "$lock" ]] ||
    die "no environment group $group in set $set_name; there are: ${all[*]}"
  if [[ "$group" == torch_stack ]]; then
    size_note=" (torch with CUDA: some 5 GB on disk, a few minutes)"
  fi
  environment="$("$here/python_env.sh" "$lock")" ||
    die "$group of set $set_name could not be made${size_note:-}"
  printf '%s\t%s\n' "$group" "$environment"
done
