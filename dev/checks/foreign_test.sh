#!/bin/bash
# Our readers over what others wrote (docs/foreign.md). Without --full only a few
# sources of images, if they were fetched before.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

if [[ "${1:-}" == --full ]]; then exec "$REPO_ROOT/dev/foreign.sh"; fi
exec "$REPO_ROOT/dev/foreign.sh" --cached golang-1.19 libpng1.6 libjpeg-turbo
