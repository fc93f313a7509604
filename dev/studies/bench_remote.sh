#!/bin/bash
# Measures how much bundles, connections and the cache help. Use an idle
# machine. Takes the flags of tools/pipeline/bench_remote.py.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cd "$REPO_ROOT"
dev/bazel.sh build //tools/pipeline //lib/loader/worker:worker_native
python="$(dev/python_env.sh dev/locks/storage.lock)/bin/python"
exec "$python" -B tools/pipeline/bench_remote.py "$@"
