#!/bin/bash
# Trains testdata/eval/byte_lm_tiny.ckpt on generated tasks, and writes what eval
# should find in it. Takes some minutes on one core. Stops early on purpose, so
# that probes are neither always right nor always wrong: if one is not between
# 30% and 90%, exits with 3 and writes nothing.
#
#   tools/eval/train_checkpoint.sh [STEPS]
#
# On arm64 machines that hide SVE, torch's BLAS multiplies ten times slower than
# OpenBLAS; LD_PRELOAD=libopenblas.so.0 in front of this helps there.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../dev/common.sh"
cd "$REPO_ROOT"

steps="${1:-850}"
dev/bazel.sh build //tools/eval //lib/model/worker:worker_train \
  //lib/model/worker:worker_eval
bin="$(dev/bazel.sh info bazel-bin)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 tools/eval/tasks.py --train="$work/text.txt" --data=configs/eval
# Samples as long as the windows of eval, so that every place is trained.
"$bin/lib/model/worker/worker_train" model=byte_lm_tiny text="$work/text.txt" \
  context=128 batch_size=6 learning_rate=0.004 schedule=linear threads=1 \
  warmup=0 steps="$steps" seed=1 rates=0 count=0 \
  checkpoint="$work/byte_lm_tiny.ckpt" checkpoint_weights_only=1 |
  tail -n 1 | python3 -c '
import json, sys
losses = json.load(sys.stdin)["losses"]
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}")'
"$bin/tools/eval/eval" --checkpoint="$work/byte_lm_tiny.ckpt" \
  --output="$work/eval.jsonl"
python3 tools/eval/expect.py "$work/eval.jsonl" "$work/expected.json"
mkdir -p testdata/eval
mv "$work/byte_lm_tiny.ckpt" "$work/expected.json" testdata/eval/
