#!/bin/bash
# Builds `video` and shows what it measures on synthetic videos: decoders of
# clips of 16 frames, with both rules of choosing them, transforms on decoded
# clips, and loaders of clips. Decoders of PyPI need the environment torch_video
# (5 GB); without it they are skipped with a warning. Rows are in dist/demo_video.
#
#   dev/demo_video.sh            8 videos, three runs each, at most 15 minutes
#   MINUTES=5 dev/demo_video.sh  another limit; tables show what it had time for
#   FULL=1 dev/demo_video.sh     20 videos, runs until medians are stable, no limit
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

minutes="${MINUTES:-15}"
[[ "$minutes" =~ ^[1-9][0-9]{0,3}$ ]] ||
  die "MINUTES=$minutes is not a number of minutes from 1 to 9999"
items=8
flags=(--quiet_wait=2 --stable_within=0)
if [[ -n "${FULL:-}" ]]; then
  items=20
  flags=()
fi

dev/setup.sh build dev
GROUPS_WANTED="albumentationsx_video" dev/envs.sh >/dev/null
dev/bazel.sh build --ui_event_filters=-info --show_result=0 \
  //tools/aggregate //tools/plan //tools/video

work=dist/demo_video
mkdir -p "$work"
rm -f "$work"/*.jsonl
# Parts that are still to come share what is left of the time.
parts=4
deadline=$((SECONDS + 60 * minutes))
cut=0
tables=0
if [[ -n "${FULL:-}" ]]; then
  say "four measurements of $items videos, until medians are stable"
else
  say "four measurements of $items videos, in $minutes minutes at most"
fi

show() {
  echo
  echo "\$ $*"
  "bazel-bin/tools/$1/$1" "${@:2}"
}

# measure ROWS CONTAINER FLAG...: one part.
measure() {
  local rows="$1" limit=() code=0
  local dataset="synthetic:video,n=$items,seed=1,container=$2"
  local left=$((deadline - SECONDS))
  shift 2
  if [[ -z "${FULL:-}" ]]; then
    limit=(timeout --foreground --signal=INT --kill-after=60
      $((left > parts ? left / parts : 1)))
  fi
  parts=$((parts - 1))
  set -- video --skip_missing --format=jsonl "--dataset=$dataset" \
    "--num_items=$items" "${flags[@]}" "--output=$work/$rows.jsonl" "$@"
  echo
  echo "\$ $*"
  "${limit[@]}" "bazel-bin/tools/video/video" "${@:2}" || code=$?
  # timeout's own code.
  if [[ "$code" == 124 ]]; then
    cut=$((cut + 1))
    say "its time is over: the table shows what was measured until now"
  elif [[ "$code" != 0 ]]; then
    exit "$code"
  fi
}

# tabulate COLUMNS ROWS...: a table of what there is.
tabulate() {
  local columns="$1" name found=()
  shift
  for name in "$@"; do
    if grep -qs '"record":"row"' "$work/$name.jsonl"; then
      found+=("$work/$name.jsonl")
    fi
  done
  if [[ ${#found[@]} -gt 0 ]]; then
    show aggregate "--by=$columns" "${found[@]}"
    tables=$((tables + 1))
  else
    say "nothing was measured in time"
  fi
}

for container in avi mp4; do
  measure "decode_$container" "$container" \
    --config=configs/native/video_decode.textproto \
    --sweep=clip_rule=uniform,consecutive
done
tabulate dataset.id,settings.clip_rule,library,equivalence.label \
  decode_avi decode_mp4
measure micro avi --config=configs/native/video_micro_cpu.textproto \
  --transforms=HorizontalFlip,Rotate,GaussianBlur,ColorJitter
tabulate transform,library,equivalence.label micro
measure pipeline avi --config=configs/native/video_pipeline_cpu.textproto
tabulate transform,library,workers pipeline
if [[ "$cut" -gt 0 ]]; then
  say "$cut of 4 measurements were cut short after $minutes minutes in all;" \
    "FULL=1 dev/demo_video.sh has no limit"
fi
# 4: cannot tell.
if [[ "$tables" -eq 0 ]]; then exit 4; fi
