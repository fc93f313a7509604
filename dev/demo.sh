#!/bin/bash
# Builds the programs and runs the main job from end to end on a synthetic data
# set: describes this machine, prints the plan, measures rows, and prints a
# table by library with the equivalence of outputs; then loaders, from files to
# batches.
#
#   dev/demo.sh configs/demo.textproto configs/demo_pipeline.textproto
#
# If a config measures `torch` or a library of the torch stack, these are
# fetched first, which takes minutes the first time.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

config="${1:?usage: demo.sh CONFIG LOADER_CONFIG}"
loader_config="${2:?usage: demo.sh CONFIG LOADER_CONFIG}"
targets=(//tools/aggregate //tools/collect_env //tools/micro //tools/pipeline
  //tools/plan //lib/adapters/opencv:worker_opencv
  //lib/loader/worker:worker_native)
groups="albumentationsx pillow"
if grep -q '"torch"' "$config"; then
  dev/setup.sh build dev
  dev/torch.sh >/dev/null
  targets+=(//lib/adapters/torch:worker_torch)
  groups+=" torch_stack"
else
  dev/setup.sh build
fi
# pip waits for the network while the compiler works.
GROUPS_WANTED="$groups" dev/envs.sh >/dev/null &
envs=$!
dev/bazel.sh build --ui_event_filters=-info --show_result=0 "${targets[@]}"
wait "$envs"

show() {
  echo
  echo "\$ $*"
  "bazel-bin/tools/$1/$1" "${@:2}"
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
show collect_env --print=profile
show plan "--config=$config" --emit=table
# `aggregate` prints the tables.
show micro "--config=$config" --format=jsonl "--output=$work/rows.jsonl"
show aggregate --by=transform,library,equivalence.label "$work/rows.jsonl"
show pipeline "--config=$loader_config" --format=jsonl \
  "--output=$work/loaders.jsonl"
show aggregate --by=transform,library "$work/loaders.jsonl"
