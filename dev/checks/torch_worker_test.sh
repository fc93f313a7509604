#!/bin/bash
# All tests of micro's worker for torch. Not part of `bazel test //...`, because
# they need libtorch, which is fetched if it is missing.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

dev/torch.sh >/dev/null
dev/bazel.sh build //lib/adapters/torch:worker_torch
dev/bazel.sh test //lib/adapters/torch:op_test \
  //lib/adapters/torch:torch_adapter_test
