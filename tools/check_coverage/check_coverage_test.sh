#!/bin/bash
# Runs the real program on rows that were made up for real plans.
#
# Goldens are in testdata/. To renew them, in the test's runfiles:
#   UPDATE_GOLDENS=REPO/tools/check_coverage/testdata TEST_TMPDIR=$(mktemp -d) \
#     tools/check_coverage/check_coverage_test
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly ROOT="$PWD"
readonly TOOL="$ROOT/tools/check_coverage/check_coverage"
readonly PLAN="$ROOT/tools/plan/plan"
readonly ROWS="$ROOT/lib/analysis/testing/make_synthetic_rows"
readonly GOLDENS="$ROOT/tools/check_coverage/testdata"
export FEEDRATE_CONFIGS="$ROOT/configs"

expect_exit() { # code args...
  local expected="$1"
  shift
  "$TOOL" "$@" >out 2>err
  expect_eq "exit code of check_coverage $*" "$?" "$expected"
}

expect_golden() { # name: `out` is what the golden says
  if [[ -n "${UPDATE_GOLDENS:-}" ]]; then cp out "$UPDATE_GOLDENS/$1"; fi
  diff -u "$GOLDENS/$1" out || fail "differs from testdata/$1"
}

expect_err() { # text
  grep -qF -- "$1" err || fail "no '$1' on stderr: $(cat err)"
}

# Six jobs of three runs: jobs.jsonl, and rows.jsonl with a row for each run
# behind two env and two run records.
small_campaign() {
  "$PLAN" --config="$FEEDRATE_CONFIGS/paper/prod_c4_rgb_dataloader_cpu.textproto" \
    --transforms=Rotate,GaussianBlur --libraries=albumentationsx,kornia,pillow \
    --num_runs=3 >jobs.jsonl || fail plan
  "$ROWS" --early_stopped=0 <jobs.jsonl >rows.jsonl || fail "synthetic rows"
  expect_eq "lines of rows.jsonl" "$(wc -l <rows.jsonl)" 22
}

test_complete() {
  small_campaign
  expect_exit 0 --plan=jobs.jsonl rows.jsonl
  expect_golden complete.txt
  expect_exit 0 --plan=jobs.jsonl --fix=jobs rows.jsonl
  [[ ! -s out ]] || fail "nothing to fix, and yet: $(cat out)"
  expect_err "complete: 6 of 6 jobs, 18 of 18 runs"
}

test_an_unknown_program() {
  small_campaign
  expect_exit 1 --plan=jobs.jsonl --fix=jobs --program=micr rows.jsonl
  expect_err 'did you mean "micro"'
}

test_everything_that_can_be_wrong() {
  small_campaign
  {
    sed -n '1,6p' rows.jsonl
    # Run 2 of the first job crashed; the second job has no run 1.
    sed -n '7p' rows.jsonl | sed 's/"status":"ok","reason":""/"status":"crashed","reason":"signal 11"/'
    sed -n '8p;10p' rows.jsonl
    # The third job comes from a GPU machine, and once too often.
    sed -n '11,13p' rows.jsonl |
      sed 's/"machine_profile":"[^"]*","env_id":"[^"]*"/"machine_profile":"l4x1_driver580_cuda13.0_sm89","env_id":"f"/'
    sed -n '11p' rows.jsonl
    # The fourth is another batch size, takes no time, and does nothing.
    sed -n '14p' rows.jsonl | sed 's/"batch_size":256/"batch_size":128/'
    sed -n '15p' rows.jsonl | sed 's/"elapsed_s":[^,]*/"elapsed_s":0/'
    sed -n '16p' rows.jsonl | sed 's/"warnings":\[\]/"warnings":["noop"]/'
    # The fifth is fine, but for a broken line after it.
    sed -n '17,19p' rows.jsonl
    echo 'rubbish'
    # The sixth is missing, its row torn.
    sed -n '20p' rows.jsonl | head -c 200
  } >broken.jsonl
  expect_exit 3 --plan=jobs.jsonl broken.jsonl
  expect_golden incomplete.txt
  expect_exit 3 --plan=jobs.jsonl --format=jsonl broken.jsonl
  expect_golden incomplete.jsonl
  python3 -m json.tool out >/dev/null || fail "the record is no JSON"
}

test_fixes_are_jobs_that_fill_the_gaps() {
  small_campaign
  grep -v '"run_index":1' rows.jsonl | sed '5d' >some.jsonl
  expect_exit 3 --plan=jobs.jsonl --fix=jobs some.jsonl
  cp out fix.jsonl
  "$ROWS" --early_stopped=0 <fix.jsonl | grep '"record":"row"' >more.jsonl
  expect_eq "rows to fill the gaps" "$(wc -l <more.jsonl)" 7
  expect_exit 0 --plan=jobs.jsonl some.jsonl more.jsonl
  # plan agrees on what is missing.
  "$PLAN" --config="$FEEDRATE_CONFIGS/paper/prod_c4_rgb_dataloader_cpu.textproto" \
    --transforms=Rotate,GaussianBlur --libraries=albumentationsx,kornia,pillow \
    --num_runs=3 --existing=some.jsonl >planned.jsonl
  expect_eq "fixes" "$(grep -o '"run_indexes":[^]]*' fix.jsonl)" \
    "$(grep -o '"run_indexes":[^]]*' planned.jsonl)"
  expect_eq "fixes" "$(grep -o '"job_id":"[^"]*' fix.jsonl)" \
    "$(grep -o '"job_id":"[^"]*' planned.jsonl)"
}

test_profiles() {
  mkdir -p campaign/c4
  # Without rows everything that the profile owes is a gap.
  "$TOOL" --coverage=ram-reduced --num_runs=1 --fix=jobs /dev/null 2>err |
    "$ROWS" >campaign/c4/rows.jsonl
  expect_exit 0 --coverage=ram-reduced --num_runs=1 campaign
  expect_golden ram_reduced.txt
  # The whole paper owes more, and optional libraries more still.
  expect_exit 3 --coverage=full-paper --format=jsonl campaign
  grep -q '"code":"missing"' out || fail "nothing is missing of full-paper"
  grep -q '"library":"dali"' out && fail "dali is owed without being asked for"
  expect_exit 3 --coverage=full-paper --require-optional-libraries --format=jsonl campaign
  grep -q '"library":"dali","jobs":52' out || fail "dali is not owed"
  # The printed command for noisy rows finds them when it is executed.
  sed '6s/"warnings":\[\]/"warnings":["noisy"]/' campaign/c4/rows.jsonl >noisy.jsonl
  expect_exit 0 --coverage=ram-reduced --num_runs=1 noisy.jsonl
  local command
  command="$(sed -n 's/.*\$ check_coverage \([^|]*\) | .*/\1/p' out)"
  eval "'$TOOL' $command" >again.jsonl 2>err || fail "$command: $(cat err)"
  expect_eq "jobs to repeat" "$(grep -c '"record":"job"' again.jsonl)" 1
  # More runs than there are.
  expect_exit 3 --coverage=ram-reduced --num_runs=3 --format=jsonl campaign
  grep -q '"code":"too_few_runs"' out || fail "one run is not three"
}

test_standard_input() {
  small_campaign
  expect_exit 0 --plan=jobs.jsonl - <rows.jsonl
}

test_no_rows_at_all() {
  small_campaign
  : >empty.jsonl
  expect_exit 5 --plan=jobs.jsonl empty.jsonl
  expect_exit 5 --plan=jobs.jsonl --machine_profile=other rows.jsonl
}

test_callers_mistakes() {
  small_campaign
  expect_exit 1 rows.jsonl
  expect_err "--coverage=full-paper"
  expect_exit 5 --plan=jobs.jsonl </dev/null
  expect_exit 1 --coverage=full-papre rows.jsonl
  expect_err 'did you mean "full-paper"?'
  expect_exit 1 --plan=no_such.jsonl rows.jsonl
  expect_exit 1 --plan=jobs.jsonl no_such.jsonl
  expect_exit 1 --plan=rows.jsonl rows.jsonl
  expect_err "no job in this plan"
  expect_exit 1 --plan=jobs.jsonl --format=yaml rows.jsonl
  expect_exit 1 --plan=jobs.jsonl --fix=rows rows.jsonl
  expect_exit 1 --plan=jobs.jsonl --fix=jobs --format=jsonl rows.jsonl
  expect_exit 1 --plan=jobs.jsonl --num_runs=3 rows.jsonl
  expect_exit 1 --plan=jobs.jsonl --limit=-1 rows.jsonl
  expect_exit 1 --no_such_flag
  expect_exit 0 --help
  grep -q -- "--fix" out || fail "--help names no flags"
}

for name in $(compgen -A function test_); do
  echo "== $name"
  rm -rf "${TEST_TMPDIR:?}/$name"
  mkdir -p "$TEST_TMPDIR/$name"
  cd "$TEST_TMPDIR/$name" || exit 1
  "$name"
done
finish
