#!/bin/bash
# Trains testdata/eval/byte_lm_tiny.ckpt on generated tasks, and writes what eval
# should find in it. Some minutes on one core; stopped early on purpose, so that
# probes are neither all right nor all wrong.
#
#   tools/eval/train_checkpoint.sh [STEPS]
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../dev/common.sh"
cd "$REPO_ROOT"

steps="${1:-500}"
dev/bazel.sh build //tools/eval //lib/model/worker:worker_train \
  //lib/model/worker:worker_eval
bin="$(dev/bazel.sh info bazel-bin)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p testdata/eval
python3 tools/eval/tasks.py --train="$work/text.txt" --data=configs/eval
"$bin/lib/model/worker/worker_train" model=byte_lm_tiny text="$work/text.txt" \
  context=96 batch_size=32 learning_rate=0.002 schedule=linear threads=1 \
  warmup=0 steps="$steps" seed=1 rates=0 count=0 \
  checkpoint=testdata/eval/byte_lm_tiny.ckpt checkpoint_weights_only=1 |
  tail -n 1 | python3 -c '
import json, sys
losses = json.load(sys.stdin)["losses"]
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}")'
"$bin/tools/eval/eval" --checkpoint=testdata/eval/byte_lm_tiny.ckpt \
  --output="$work/eval.jsonl"
python3 - "$work/eval.jsonl" testdata/eval/expected.json <<'PYTHON'
import json
import sys

record = json.load(open(sys.argv[1]))
# Another processor rounds differently: a byte here or there.
expected = {
    "perplexity": {"value": record["perplexity"], "tolerance": 0.02},
    "probe_accuracy": {"value": record["probe_accuracy"], "tolerance": 3},
}
for probe in record["probes"]:
    expected["probes." + probe["name"]] = {
        "value": probe["accuracy"],
        "tolerance": 5,
    }
    print(probe["name"], probe["accuracy"])
with open(sys.argv[2], "w") as out:
    json.dump(expected, out, indent=2)
    out.write("\n")
PYTHON
