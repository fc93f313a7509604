#!/bin/bash
# What bundles, connections and the cache bring; for an idle machine. Flags are
# those of tools/pipeline/bench_remote.py.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cd "$REPO_ROOT"
dev/bazel.sh build -c opt //tools/pipeline //lib/loader/worker:worker_native
exec "$FEEDRATE_PYTHON" -B tools/pipeline/bench_remote.py "$@"
