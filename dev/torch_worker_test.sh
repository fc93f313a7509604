#!/bin/bash
# Everything of micro's worker for torch. No part of `bazel test //...`, because
# it needs libtorch: skipped aloud where there is none.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

if ! third_party/torch/find_torch.sh >/dev/null 2>&1; then
  echo 'no libtorch; fetch it with: make torch'
  exit 77
fi
dev/bazel.sh build //lib/adapters/torch:worker_torch
dev/bazel.sh test //lib/adapters/torch:op_test \
  //lib/adapters/torch:torch_adapter_test //lib/adapters/torch:torch_adapter_test
