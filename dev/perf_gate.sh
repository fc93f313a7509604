#!/bin/bash
# Trains, evaluates and compares: writes env.json, metrics.json and eval.json to
# OUT (perf_gate), and compares them with the baselines in BASELINES
# (OUT/baselines). A machine without a baseline gets these as its first, by the
# rules of `compare_baseline --update-baseline`: on branch main of a clean
# checkout, or with MAINTAINER=REASON. CHECKPOINT is the checkpoint to evaluate;
# BIN is a folder of programs that are already built.
#
#   dev/perf_gate.sh [FLAG OF TRAIN...]
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

out="${OUT:-perf_gate}"
baselines="${BASELINES:-$out/baselines}"
checkpoint="${CHECKPOINT:-testdata/eval/byte_lm_tiny.ckpt}"
bin="${BIN:-}"
if [[ -z "$bin" ]]; then
  third_party/torch/find_torch.sh >/dev/null || die "run: make torch"
  dev/bazel.sh build --show_result=0 //tools/collect_env //tools/train \
    //tools/eval //tools/compare_baseline //lib/model/worker:worker_train \
    //lib/model/worker:worker_eval
  bin="$(dev/bazel.sh info bazel-bin)"
fi
mkdir -p "$out" "$baselines"
"$bin/tools/collect_env/collect_env" --output="$out/env.json"
rm -f "$out/rows.jsonl"
"$bin/tools/train/train" --model=byte_lm_tiny --batch-size=8 --threads=1 \
  --num-runs=3 --warmup-steps=10 --measured-steps=30 "$@" --output="$out/rows.jsonl" \
  --metrics="$out/metrics.json"
"$bin/tools/eval/eval" --checkpoint="$checkpoint" \
  --output="$out/eval.jsonl" --eval-json="$out/eval.json"
profile="$("$bin/tools/collect_env/collect_env" --print=profile)"
compare=("$bin/tools/compare_baseline/compare_baseline"
  --current="$out/metrics.json" --eval="$out/eval.json"
  --baselines="$baselines")
if [[ ! -e "$baselines/$profile.metrics.json" ]]; then
  "${compare[@]}" --update-baseline \
    ${MAINTAINER:+"--i-am-a-maintainer=$MAINTAINER"} >/dev/null ||
    die "$profile has no baseline, and this run may not become its first;" \
      "MAINTAINER=REASON allows it"
  say "no baseline of $profile: these are the first"
fi
"${compare[@]}" --format=text
