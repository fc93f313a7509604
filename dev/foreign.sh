#!/bin/bash
# Our readers over what others wrote, next to the reference readers: see
# dev/foreign/foreign.py and docs/foreign.md.
#
#   dev/foreign.sh [--cached] [KIND|SOURCE...]
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

exec "$FEEDRATE_PYTHON" -B "$REPO_ROOT/dev/foreign/foreign.py" "$@"
