#!/bin/bash
# Runs every fuzzer (targets with the tag `fuzz`) for FUZZ_SECONDS each, as many
# at a time as there are processors. Seeds are the corpus of its <name>_test and
# inputs found earlier, which are kept in the user's cache. Stops at the first
# finding and names the input.
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
# shellcheck disable=SC2046  # Several numbers.
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$seeds"' EXIT
for target in "${targets[@]}"; do
  mkdir "$seeds/${target//\//_}"
  dev/bazel.sh run --ui_event_filters=-info --show_result=0 "${target}_test" \
    -- "--unpack=$seeds/${target//\//_}"
done
dev/bazel.sh build --config=fuzz "${targets[@]}"
# fuzz TARGET: prints what it did when it has ended.
fuzz() {
  local target="$1" path="${1#//}" log="$seeds/${1//\//_}.log"
  path="${path/:/\/}"
  local corpus="$FEEDRATE_CACHE/fuzz/$path" found="$REPO_ROOT/dist/fuzz/$path-"
  mkdir -p "$corpus" "$(dirname "$found")"
  if "bazel-bin/$path" -max_total_time="$seconds" -use_value_profile=1 \
    -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$found" "$corpus" "$seeds/${target//\//_}" \
    >"$log" 2>&1; then
    say "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
      "inputs in $seconds s"
  else
    tail -n 40 "$log"
    die "$target: found a failing input, kept as $found*"
  fi
}

for target in "${targets[@]}"; do
  while [[ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]]; do
    wait -n
  done
  fuzz "$target" &
done
while [[ -n "$(jobs -p)" ]]; do wait -n; done
