#!/bin/bash
# Measures docs/equivalence.md again: compares every installed library with the
# reference, in the versions of the paper, and writes the results to
# docs/equivalence.jsonl. Missing libraries are skipped with a warning, so first
# run `make envs`, `make torch` and
# `dev/bazel.sh build //lib/adapters/torch:worker_torch`.
#
#   dev/studies/equivalence.sh [more flags of micro]
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

dev/bazel.sh build --ui_event_filters=-info --show_result=0 \
  //tools/micro //lib/adapters/opencv:worker_opencv
found="$(mktemp)"
trap 'rm -f "$found"' EXIT
for set in rgb 9ch; do
  for profile in matched paper; do
    say "$set, profile $profile"
    bazel-bin/tools/micro/micro \
      "--config=configs/native/${set}_micro_cpu.textproto" \
      "--params_profile=$profile" --env_set=paper --num_items=3 \
      "--dataset=synthetic:rgb,n=3,seed=1" --verify --format=jsonl \
      --skip_missing "$@" >>"$found"
  done
done
cp "$found" docs/equivalence.jsonl
dev/bazel.sh run --ui_event_filters=-info --show_result=0 //docs:generate
