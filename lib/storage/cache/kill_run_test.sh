#!/bin/bash
# A short run of what `kill_run --kills=200` does in full.
set -euo pipefail
out=$(lib/storage/cache/kill_run --kills="${KILLS:-25}")
echo "$out"
[[ "$out" == *"no wrong byte"* ]]
