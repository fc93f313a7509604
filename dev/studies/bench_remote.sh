#!/bin/bash
# What bundles, connections and the cache bring; for an idle machine. Flags are
# those of tools/pipeline/bench_remote.py.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cd "$REPO_ROOT"
dev/bazel.sh build //tools/pipeline //lib/loader/worker:worker_native
python="$(dev/python_env.sh dev/locks/storage.lock)/bin/python"
exec "$python" -B tools/pipeline/bench_remote.py "$@"
