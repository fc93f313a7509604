#!/bin/bash
# Python with the packages of dev/requirements.lock:
#
#   dev/dev_python.sh dev/module_test.py
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

env="$("$REPO_ROOT/dev/python_env.sh" "$REPO_ROOT/dev/requirements.lock")"
exec "$env/bin/python" -B "$@"
