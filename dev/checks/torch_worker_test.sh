#!/bin/bash
# Everything of micro's worker for torch. No part of `bazel test //...`, because
# it needs libtorch, which is fetched where it is missing.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

dev/torch.sh >/dev/null
dev/bazel.sh build //lib/adapters/torch:worker_torch
dev/bazel.sh test //lib/adapters/torch:op_test \
  //lib/adapters/torch:torch_adapter_test
