#!/bin/bash
# Builds the programs and runs the main job from end to end on a synthetic data
# set: what this machine is, then what would run.
#
#   dev/demo.sh configs/demo.textproto
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

config="${1:?usage: demo.sh CONFIG}"
dev/setup.sh build
dev/bazel.sh build --ui_event_filters=-info --show_result=0 \
  //tools/collect_env //tools/plan

show() {
  echo
  echo "\$ $*"
  "bazel-bin/tools/$1/$1" "${@:2}"
}

show collect_env --print=profile
show plan "--config=$config" --emit=table
