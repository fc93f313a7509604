#!/bin/bash
# Python with the packages of dev/locks/requirements.lock and modules of dev/:
#
#   dev/dev_python.sh dev/tests/module_test.py
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

env="$("$REPO_ROOT/dev/python_env.sh" "$REPO_ROOT/dev/locks/requirements.lock")"
PYTHONPATH="$REPO_ROOT/dev" exec "$env/bin/python" -B "$@"
