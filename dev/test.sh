#!/bin/bash
# Runs all tests and ends with one line: "N passed, N failed". It counts Bazel's
# test targets, targets that do not build, and the checks below, which are not
# Bazel tests because they run Bazel, need packages of PyPI, or read files that
# no target owns.
#
#   dev/test.sh           what guards a change; CI runs it
#   dev/test.sh --full    what guards a release: also FEEDRATE_FULL=1 in every
#                         test, sanitizers, fuzzers, Slurm, the bundle, the wheel
#                         and the release in a bare Debian, and libraries whose
#                         environments take gigabytes
#
# Packages of PyPI are fetched while Bazel compiles; libtorch before most of it, so
# that its tests run among the others. Then come Bazel's tests, then the checks.
# Compilers and checks run one per core; Bazel's tests, which wait for processes
# half of the time, two. A check that exits with 77 was skipped: it says why and
# counts as neither. Skips and failures are listed again before the last line.
set -uo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT" || exit 1

# Checks that only --full runs: minutes each, or gigabytes from PyPI.
release_checks=(dev/checks/bundle_test.sh dev/checks/ci_workflow_test.sh
  dev/checks/gce_machine_test.sh dev/checks/lerobot_test.sh
  dev/checks/paper_smoke_test.sh dev/checks/python_loader_test.sh
  dev/checks/python_mixture_test.sh dev/checks/release_test.sh
  dev/checks/slurm_page_test.sh dev/checks/slurm_test.sh
  dev/checks/slurm_train_test.sh dev/checks/torch_cells_test.sh
  dev/checks/wheel_test.sh)
# Runs last and alone: it runs all of this file on a bare machine.
bare=dev/checks/bare_machine_test.sh
# Tests of Bazel that only --full runs.
release_tag=release
# What wildcards leave out because it needs libtorch.
torch_targets=(//lib/adapters/torch:tests //lib/adapters/torch:worker_torch
  //lib/model/torch:tests //lib/model/worker:image_scores_test
  //lib/model/worker:worker_eval //lib/model/worker:worker_train)

# Tests of Bazel at a time.
test_jobs="${JOBS:-$((2 * $(nproc)))}"
full=""
if [[ "${1:-}" == --full ]]; then full=1; fi
passed=0
failed=0
skipped=()
release_tests=""
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

finish() {
  local line
  for line in "${skipped[@]}"; do echo "SKIPPED $line"; done
  cat "$work/failures" 2>/dev/null
  if [[ -z "$full" ]]; then
    echo "left to make test-full: ${release_checks[*]#dev/checks/}" \
      "$release_tests; long parts of:" \
      "$(grep -lE '"\$\{1:-\}" (==|!=) --full' dev/checks/*_test.sh |
        grep -vxF "$(printf '%s\n' "${release_checks[@]}")" |
        xargs -n 1 basename | paste -sd' ') and tests with FEEDRATE_FULL"
  fi
  echo "$passed passed, $failed failed"
  if [[ "$failed" -gt 0 ]]; then exit 1; fi
  exit 0
}
trap 'failed=$((failed + 1)); finish' INT TERM

# bazel_tests FLAG_OR_TARGET...: without stopping at the first that fails.
bazel_tests() {
  local log="$work/bazel.log" counts
  # What does not build is told, and counted, by the second command.
  dev/bazel.sh build --keep_going --show_result=0 "$@" || true
  JOBS="$test_jobs" dev/bazel.sh test --local_cpu_resources="$test_jobs" \
    --keep_going --test_summary=short "$@" 2>&1 | tee "$log"
  counts="$(python3 dev/count_tests.py "$log" "${PIPESTATUS[0]}" \
    2>>"$work/failures")" || counts="0 1"
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
}

# start NAME COMMAND...: one check in the background, its output kept.
start() {
  local name="$1" file="$work/${1//\//_}"
  shift
  (
    started=$SECONDS
    status=0
    "$@" >"$file.log" 2>&1 || status=$?
    echo "$((SECONDS - started))" >"$file.seconds"
    echo "$status" >"$file.status"
  ) &
}

# collect NAME: counts a check that has ended; its output is shown where it did
# not pass.
collect() {
  local name="$1" file="$work/${1//\//_}" status
  status="$(cat "$file.status" 2>/dev/null || echo 1)"
  case "$status" in
    0)
      passed=$((passed + 1))
      echo "PASSED $name ($(cat "$file.seconds") s)"
      ;;
    77)
      skipped+=("$name: $(tail -n 1 "$file.log")")
      echo "SKIPPED $name: $(tail -n 1 "$file.log")"
      ;;
    *)
      failed=$((failed + 1))
      cat "$file.log"
      echo "FAILED $name (exit $status)" | tee -a "$work/failures"
      ;;
  esac
}

# run_checks FILE: the checks of FILE, a line each "NAME COMMAND...".
run_checks() {
  local line name ended slots="${JOBS:-$(nproc)}"
  declare -A running=() # Names by process.
  while IFS= read -r line; do
    name="${line%% *}"
    # shellcheck disable=SC2086  # Words of the line.
    start "$name" ${line#* }
    running[$!]="$name"
    while [[ ${#running[@]} -ge "$slots" ]]; do
      # A check that was killed leaves no status, and counts as failed.
      wait -n -p ended "${!running[@]}"
      collect "${running[$ended]}"
      unset "running[$ended]"
    done
  done <"$1"
  wait
  for name in "${running[@]}"; do collect "$name"; done
}

# What the checks need from PyPI, made one after the other beside the compiler.
fetch() {
  dev/python_env.sh dev/locks/storage.lock
  dev/python_env.sh dev/locks/gate_schemas.lock
  dev/python_env.sh dev/locks/imports.lock
  if [[ -n "$full" ]]; then dev/python_env.sh dev/locks/wheel.lock; fi
  GROUPS_WANTED="pillow albumentationsx albumentationsx_video" dev/envs.sh
}

if ! dev/setup.sh build dev ${full:+full}; then
  failed=1
  finish
fi
dev/torch.sh >"$work/torch.log" 2>&1 &
fetching_torch=$!
fetch >"$work/fetch.log" 2>&1 &
fetching=$!

# Most of its two minutes it waits for servers. Bazel runs one command at a time,
# so what it needs is built before the tests.
waiting=dev/checks/storage_test.sh
started=""
if dev/bazel.sh build --show_result=0 //lib/storage:store_cat &&
  cp -L bazel-bin/lib/storage/store_cat "$work/store_cat"; then
  started="$waiting"
  start "$waiting" env STORE_CAT="$work/store_cat" "$waiting" ${full:+--full}
fi

targets=(//...)
# Without libtorch its own checks say why.
if wait "$fetching_torch"; then targets+=("${torch_targets[@]}"); fi
if [[ -n "$full" ]]; then
  bazel_tests --test_env=FEEDRATE_FULL=1 --test_timeout=3600 "${targets[@]}"
  for sanitizer in asan ubsan tsan; do
    echo "With --config=$sanitizer:"
    bazel_tests --config="$sanitizer" //...
  done
else
  bazel_tests --test_tag_filters="-$release_tag" "${targets[@]}"
  release_tests="$(dev/bazel.sh query 2>/dev/null \
    "attr(tags, '\\b$release_tag\\b', tests(//...))" | paste -sd' ')"
fi
if ! wait "$fetching"; then
  tail -n 5 "$work/fetch.log"
  say "some packages of PyPI are missing; checks that need them say so"
fi

{
  # Backwards: those of torch take longest, and the others fit beside them.
  printf '%s\n' dev/checks/*_test.sh | sort -r | while IFS= read -r test; do
    if [[ "$test" == "$started" || "$test" == "$bare" ]]; then
      continue
    elif [[ -n "$full" ]]; then
      echo "$test $test --full"
    elif [[ " ${release_checks[*]} " != *" $test "* ]]; then
      echo "$test $test"
    fi
  done
  for test in dev/tests/*_test.py; do
    echo "$test dev/dev_python.sh $test"
  done
  echo "format dev/format.sh --check"
  echo "lint dev/lint.sh --fast"
  echo "layers dev/check_layers.py"
} >"$work/checks"
run_checks "$work/checks"
if [[ -n "$started" ]]; then collect "$started"; fi
if [[ -n "$full" ]]; then
  export FUZZ_SECONDS="${FUZZ_SECONDS:-60}"
  echo "fuzz dev/fuzz.sh" >"$work/checks"
  run_checks "$work/checks"
fi
echo "$bare $bare ${full:+--full}" >"$work/checks"
run_checks "$work/checks"
finish
