#!/bin/bash
# Cells of video's mode micro that the Python libraries have, with the versions
# of the set `paper`: a sample, or with --full every one. AlbumentationsX has an
# environment of its own; that of torchvision and Kornia is large, so it is made
# only with --full, and a machine without it leaves them out.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

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
  "$env/bin/python" -B clip_cells_test.py --configs="$REPO_ROOT/configs" \
    "${only[@]}" "$@"
}
test_cells "$("$REPO_ROOT/dev/python_env.sh" \
  "$requirements/albumentationsx_video.lock")" albumentationsx
lock="$requirements/torch_video.lock"
if [[ -n "$full" ]]; then
  env="$("$REPO_ROOT/dev/python_env.sh" "$lock")"
elif ! env="$("$REPO_ROOT/dev/python_env.sh" --made "$lock")"; then
  echo 'left out torchvision and Kornia: no environment of torch for clips;' \
    'make it with: make envs GROUPS=torch_video'
  exit 0
fi
test_cells "$env" torchvision kornia
"$env/bin/python" -B decoders_test.py
