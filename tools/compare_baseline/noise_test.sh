#!/bin/bash
# Real noise raises no alarm: suites of `micro`, half of them measured next to a
# load generator, against a stored baseline of several executions.
#
# As a test it is small. REPEATS=200 SLOW=50 JOBS=5 RUNS=5 EXECUTIONS=7 makes the
# table of docs/compare_baseline.md (dev/bench.sh noise): unchanged suites, and
# SLOW more that a busy loop makes SLOWDOWN percent slower. Prints a line per
# suite: verdicts of its jobs. Exit 1 if more than 1 in 100 unchanged suites has
# a job called slower, or a quiet slowed suite has none.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly COMPARE=tools/compare_baseline/compare_baseline
export FEEDRATE_CONFIGS="$PWD/configs"
work="${TEST_TMPDIR:-$(mktemp -d)}"
export XDG_CACHE_HOME="$work/cache"

cat >"$work/suite.textproto" <<'END'
version: 1
selection {
  scenario: "image-rgb"
  mode: "micro"
  libraries: [ "opencv" ]
  transforms: [ "HorizontalFlip", "VerticalFlip", "Brightness", "Invert",
    "Solarize", "Posterize", "Grayscale", "RGBShift", "RandomGamma", "Pad" ]
}
execution { device: "cpu" }
END
# Busy for a while, idle for a while: some runs are hit, some are not, and some
# are hit in part. Every other burst fills the memory bus instead.
readonly LOAD='
import random, sys, time
source = random.Random(int(sys.argv[1]))
block = bytearray(32 << 20)
while True:
    end = time.monotonic() + source.expovariate(5)
    copies = source.random() < 0.5
    while time.monotonic() < end:
        if copies:
            block[:] = bytes(block)
    time.sleep(source.expovariate(5))
'

# measure FILE [PERCENT]: rows of ten jobs for each of JOBS sizes.
measure() {
  FEEDRATE_SLOWDOWN_PERCENT="${2:-0}" tools/micro/micro \
    --config="$work/suite.textproto" --num_runs="${RUNS:-3}" --min_time=0.01 \
    --stable_within=0.02 --sweep="num_items=$(seq -s, 50 $((49 + ${JOBS:-1})))" \
    --output="$1" 2>"$work/err" || fail "micro: $(cat "$work/err")"
}
# judge FILE: sets `slower` to the number of jobs that are.
judge() {
  "$COMPARE" --current="$1" --baselines="$work/baselines" --format=jsonl \
    >"$work/verdicts" 2>"$work/err"
  [[ $? == [034] ]] || fail "compare_baseline: $(cat "$work/err")"
  slower="$(grep '"scope":"job"' "$work/verdicts" | grep -c '"verdict":"slower"')"
  echo "$(basename "$1"): $(grep -o '"verdict":"[a-z_]*"' "$work/verdicts" |
    sort | uniq -c | tr -s ' \n' ' ')"
}

for ((i = 0; i < ${EXECUTIONS:-2}; i++)); do measure "$work/baseline_$i.jsonl"; done
cat "$work"/baseline_?.jsonl >"$work/baseline.jsonl"
"$COMPARE" --update-baseline --i-am-a-maintainer=noise_test \
  --current="$work/baseline.jsonl" --baselines="$work/baselines" >/dev/null 2>&1 ||
  fail "no baseline was stored"

alarms=0
repeats="${REPEATS:-4}"
for ((i = 0; i < repeats; i++)); do
  file="$work/quiet_$i.jsonl" load=()
  if ((i % 2)); then
    file="$work/loaded_$i.jsonl"
    for ((j = 0; j <= $(nproc); j++)); do
      python3 -c "$LOAD" "$j" &
      load+=($!)
    done
  fi
  measure "$file"
  ((${#load[@]} == 0)) || { kill "${load[@]}" && wait "${load[@]}" 2>/dev/null; }
  judge "$file"
  ((slower == 0)) || alarms=$((alarms + 1))
done
grep -q '"warnings":\["[^]]*\(contended\|noisy\)' "$work"/loaded_*.jsonl ||
  fail "the load generator disturbed nothing"
((100 * alarms <= repeats)) || fail "$alarms of $repeats unchanged suites raised an alarm"
for ((i = 0; i < ${SLOW:-0}; i++)); do
  measure "$work/slow_$i.jsonl" "${SLOWDOWN:-10}"
  judge "$work/slow_$i.jsonl"
  ((slower > 0)) || fail "a slowdown of ${SLOWDOWN:-10}% was not found"
done

finish
