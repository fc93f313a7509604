#!/bin/bash
# Builds `video` and shows what it measures on synthetic videos: decoders of
# clips of 16 frames, with both rules of choosing them, transforms on decoded
# clips, and loaders of clips. Decoders of PyPI need the environment torch_video
# (5 GB); without it they are skipped with a warning.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

dev/setup.sh build dev
GROUPS_WANTED="albumentationsx_video" dev/envs.sh >/dev/null
dev/bazel.sh build --ui_event_filters=-info --show_result=0 \
  //tools/aggregate //tools/plan //tools/video

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

show() {
  echo
  echo "\$ $*"
  "bazel-bin/tools/$1/$1" "${@:2}"
}

for container in avi mp4; do
  show video --config=configs/native/video_decode.textproto --skip_missing \
    --format=jsonl \
    "--dataset=synthetic:video,n=20,seed=1,container=$container" \
    --num_items=20 --sweep=clip_rule=uniform,consecutive \
    "--output=$work/decode_$container.jsonl"
done
show aggregate --by=dataset.id,settings.clip_rule,library,equivalence.label \
  "$work"/decode_*.jsonl
show video --config=configs/native/video_micro_cpu.textproto --skip_missing \
  --format=jsonl \
  --transforms=HorizontalFlip,Rotate,GaussianBlur,ColorJitter \
  --dataset=synthetic:video,n=10,seed=1 --num_items=10 \
  "--output=$work/micro.jsonl"
show aggregate --by=transform,library,equivalence.label "$work/micro.jsonl"
show video --config=configs/native/video_pipeline_cpu.textproto --skip_missing \
  --format=jsonl \
  --dataset=synthetic:video,n=32,seed=1 --num_items=32 \
  "--output=$work/pipeline.jsonl"
show aggregate --by=transform,library,workers "$work/pipeline.jsonl"
