#!/bin/bash
# What needs libtorch, which is fetched if it is missing, and so is not part of
# `bazel test //...`: micro's worker for torch, the models, the trainer, and the
# processes of `train` and `eval`. --full takes their long tests too.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"
if [[ "${1:-}" == --full ]]; then export FEEDRATE_FULL=1; fi

dev/torch.sh >/dev/null
dev/bazel.sh test //lib/adapters/torch:tests //lib/model/torch:tests \
  //lib/model/worker:image_scores_test
dev/bazel.sh build //tools/train //tools/eval //tools/compare_baseline \
  //tools/collect_env //lib/adapters/torch:worker_torch //lib/media:write_synthetic \
  //lib/model/worker:worker_train //lib/model/worker:worker_eval
bin="$(dev/bazel.sh info bazel-bin)"
# The longest one beside the others.
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
python3 tools/train/torch_test.py "$bin" >"$log" 2>&1 &
beside=$!
status=0
python3 tools/train/files_test.py "$bin" || status=1
python3 tools/train/eval_test.py "$bin" || status=1
python3 tools/train/weights_test.py "$bin" || status=1
python3 tools/train/image_eval_test.py "$bin" || status=1
"$(dev/python_env.sh dev/locks/storage.lock)/bin/python" -B \
  tools/train/stores_test.py "$bin" || status=1
wait "$beside" || status=1
cat "$log"
exit "$status"
