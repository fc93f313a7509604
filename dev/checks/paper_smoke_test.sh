#!/bin/bash
# make paper-smoke: the commands of docs/paper.md on 8 items. Minutes, and
# gigabytes of environments.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
OUT="$work/out" "$REPO_ROOT/dev/paper_smoke.sh"
