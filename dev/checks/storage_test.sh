#!/bin/bash
# S3, GCS and web addresses against real servers on loopback: moto,
# gcp-storage-emulator, nginx, and one of our own that fails on purpose and
# compares every signature with botocore's. With --full, or FEEDRATE_FULL=1, the
# fault runs have 10,000 requests each.
#
# Not a Bazel test, because the servers come from packages of PyPI.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

if [[ "${1:-}" == --full ]]; then export FEEDRATE_FULL=1; fi
env="$(dev/python_env.sh dev/locks/storage.lock)"
# dev/test.sh names a program that it has built.
if [[ -z "${STORE_CAT:-}" ]]; then
  dev/bazel.sh build //lib/storage:store_cat
fi
exec "$env/bin/python" -B -m unittest discover --start-directory \
  lib/storage/testing --pattern '*_test.py'
