#!/bin/bash
# Breaks programs in mid-flight (tools/testing/faults.py) and looks at what is
# left: 200 scenarios, 10,000 with --full.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

scenarios=200
if [[ "${1:-}" == --full ]]; then scenarios=10000; fi
dev/bazel.sh build --noshow_progress //tools/stage_dataset \
  //tools/compare_baseline //tools/pipeline //tools/report //tools/plan \
  //tools/micro //tools/train //lib/adapters/opencv:worker_opencv \
  //lib/adapters/null:worker_null
# A program that writes in place is found.
code=0
found="$(tools/testing/faults.py --scenarios=30 --only=careless)" || code=$?
if [[ "$code" -eq 77 ]]; then
  echo "$found"
  exit 77
fi
[[ "$code" -eq 1 ]] || die "a program that writes in place was not found: $found"
tools/testing/faults.py "--scenarios=$scenarios"
