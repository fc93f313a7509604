#!/bin/bash
# Streams 1 GB from nginx on loopback in ranges of 8 MB, compared with
# curl --parallel:
#
#   lib/storage/testing/bench_nginx.sh [--pairs=20] [--bytes=1073741824]
#
# See bench_nginx.py for the output. Run it on an idle machine.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../../dev/common.sh"
cd "$REPO_ROOT"

env="$(dev/python_env.sh dev/locks/storage.lock)"
dev/bazel.sh build //lib/storage:store_cat
exec "$env/bin/python" -B lib/storage/testing/bench_nginx.py "$@"
