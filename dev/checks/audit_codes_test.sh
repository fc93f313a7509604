#!/bin/bash
# The images and tokens of `audit` say which item they are, in the environment of
# Pillow.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

python="$(dev/python_env.sh configs/requirements/current/pillow.lock)"
"$python/bin/python" -B python/tests/audit_codes_test.py
