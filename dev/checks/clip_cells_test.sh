#!/bin/bash
# Cells of video's mode micro that the Python libraries have, with the versions
# of the set `paper`: a sample, or with --full every one. AlbumentationsX has an
# environment of its own; that of torchvision and Kornia is large, so it is made
# only with --full. Without it they are skipped and the exit code is 77, also
# when AlbumentationsX passed.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

full=""
sample="Affine,CLAHE,ChannelShuffle,HorizontalFlip,JpegCompression,Normalize"
sample+=",RandomCrop224,Rotate"
only=("--only=$sample")
if [[ "${1:-}" == --full ]]; then
  full=1
  only=()
fi
requirements="$REPO_ROOT/configs/requirements/paper"
cd "$REPO_ROOT/lib/adapters/python"
test_cells() {
  local env="$1"
  shift
  "$env/bin/python" -B -m library_tests.clip_cells_test \
    --configs="$REPO_ROOT/configs" "${only[@]}" "$@"
}
test_cells "$("$REPO_ROOT/dev/python_env.sh" \
  "$requirements/albumentationsx_video.lock")" albumentationsx
lock="$requirements/torch_video.lock"
if [[ -n "$full" ]]; then
  env="$("$REPO_ROOT/dev/python_env.sh" "$lock")"
elif ! env="$("$REPO_ROOT/dev/python_env.sh" --made "$lock")"; then
  # A check that left out two of its three libraries has not passed.
  echo 'skipped torchvision and Kornia: no environment of torch for clips;' \
    'make it with: make envs GROUPS=torch_video (AlbumentationsX passed)'
  exit 77
fi
test_cells "$env" torchvision kornia
"$env/bin/python" -B -m library_tests.decoders_test
