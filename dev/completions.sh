#!/bin/bash
# Writes the shell completions of every program into a folder:
#
#   dev/completions.sh dist/completions    from this checkout's build
#   dev/completions.sh FOLDER BINARY...    of these programs
#
# FOLDER/bash/plan, FOLDER/zsh/_plan and FOLDER/fish/plan.fish: the names under
# which each shell looks for them.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folder="${1:?usage: completions.sh FOLDER [BINARY...]}"
shift
if [[ $# -eq 0 ]]; then
  "$REPO_ROOT/dev/bazel.sh" build --noshow_progress //tools/...
  for name in $("$REPO_ROOT/feedrate" list); do
    set -- "$@" "$REPO_ROOT/bazel-bin/tools/$name/$name"
  done
  set -- "$@" "$REPO_ROOT/feedrate"
fi

mkdir -p "$folder"/{bash,zsh,fish}
for binary in "$@"; do
  name="$(basename "$binary")"
  "$binary" --completion=bash >"$folder/bash/$name"
  "$binary" --completion=zsh >"$folder/zsh/_$name"
  "$binary" --completion=fish >"$folder/fish/$name.fish"
done
