#!/bin/bash
# Runs the main job from end to end on a synthetic data set: describes this
# machine, prints the plan, measures rows, and prints a table by library with the
# equivalence of outputs; then loaders, from files to batches; and a page of it
# all.
#
#   feedrate demo                            in a bundle or wheel
#   dev/demo.sh [CONFIG LOADER_CONFIG]       in a checkout (make demo)
#
# A checkout builds the programs first, and makes the environments of the
# libraries; if a config measures `torch` or a library of the torch stack, these
# are fetched too, which takes minutes the first time. A bundle measures what is
# there. Rows and page are in dist/demo of a checkout, else in ./feedrate_demo.
set -euo pipefail
# In a checkout dev/, in a bundle libexec/.
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=dev/common.sh
source "$here/common.sh"

config="${1:-configs/demo.textproto}"
loader_config="${2:-configs/demo_pipeline.textproto}"
groups="albumentationsx pillow"
feedrate="$REPO_ROOT/bin/feedrate"
folder=feedrate_demo

build() {
  local envs targets=(//tools/aggregate //tools/collect_env //tools/micro
    //tools/pipeline //tools/plan //tools/report
    //lib/adapters/opencv:worker_opencv //lib/adapters/native:worker_native)
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
}

show() {
  echo
  echo "\$ feedrate $*"
  "$feedrate" "$@"
}

if [[ -e "$REPO_ROOT/MODULE.bazel" ]]; then
  cd "$REPO_ROOT"
  feedrate=./feedrate
  folder=dist/demo
  build
fi
mkdir -p "$folder" || die "cannot write here; change to a folder of yours"
rows="$folder/rows.jsonl"
loaders="$folder/loaders.jsonl"
page="$folder/report.html"
rm -f "$rows" "$loaders" "$page"

# Tables within seconds, on a busy machine too, which is told.
quick=() few=()
if [[ $# -eq 0 ]]; then
  quick=(--quiet_wait=2 --stable_within=0)
  few=(--num_items=32)
fi

show collect_env --print=profile
show plan "--config=$config" "${few[@]}" --emit=table
# `aggregate` prints the tables.
show micro "--config=$config" "${few[@]}" "${quick[@]}" --skip_missing \
  --format=jsonl "--output=$rows"
show aggregate --by=transform,library,equivalence.label "$rows"
show pipeline "--config=$loader_config" "${quick[@]}" \
  --skip_missing --format=jsonl "--output=$loaders"
show aggregate --by=transform,library "$loaders"
show report "$rows" "$loaders" "--output=$page"
echo
echo "The same as a page with charts: $PWD/$page"
for group in $groups; do
  if ! "$here/python_env.sh" --made \
    "$REPO_ROOT/configs/requirements/paper/$group.lock" >/dev/null 2>&1; then
    echo "For the rows of $groups too: feedrate envs $groups, and again"
    break
  fi
done
