#!/bin/bash
# Runs every fuzzer (targets with the tag `fuzz`) for FUZZ_SECONDS each. Seeds
# are the corpus of its <name>_test and inputs found earlier, which are kept in
# the user's cache. Stops at the first finding and names the input.
#
#   FUZZ_SECONDS=60 dev/fuzz.sh [LABEL...]
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

seconds="${FUZZ_SECONDS:-600}"
if [[ $# -eq 0 ]]; then
  mapfile -t targets < <(bazel query --noshow_progress \
    'attr(tags, "\bfuzz\b", //...)' 2>/dev/null)
else
  targets=("$@")
fi
if [[ ${#targets[@]} -eq 0 ]]; then
  echo "no target has the tag fuzz"
  exit 77
fi

seeds="$(mktemp -d)"
trap 'rm -rf "$seeds"' EXIT
for target in "${targets[@]}"; do
  mkdir "$seeds/${target//\//_}"
  dev/bazel.sh run --ui_event_filters=-info --show_result=0 "${target}_test" \
    -- "--unpack=$seeds/${target//\//_}"
done
dev/bazel.sh build --config=fuzz "${targets[@]}"
for target in "${targets[@]}"; do
  path="${target#//}"
  path="${path/:/\/}"
  corpus="$FEEDRATE_CACHE/fuzz/$path"
  found="$REPO_ROOT/dist/fuzz/$path-"
  mkdir -p "$corpus" "$(dirname "$found")"
  say "fuzzing $target for $seconds s"
  "bazel-bin/$path" -max_total_time="$seconds" -use_value_profile=1 \
    -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$found" "$corpus" "$seeds/${target//\//_}" ||
    die "$target: found a failing input, kept as $found*"
done
