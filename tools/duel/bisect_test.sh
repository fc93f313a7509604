#!/bin/bash
# Finds a commit in a real repository: sixteen commits of a small program, one
# of which adds work.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly DUEL="$PWD/${DUEL:-tools/duel/duel}"
readonly COMPARE="$PWD/${COMPARE:-tools/compare_baseline/compare_baseline}"
tmp="${TEST_TMPDIR:-$(mktemp -d)}"
export TMPDIR="$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org

# The program sleeps 50 ms, from commit 11 on 150 ms: a busy machine cannot hide
# that. Commit 6 cannot be built, and commit 8 cannot be run.
repo="$tmp/repo"
git init -q -b main "$repo"
cd "$repo" || exit 1
for i in {0..16}; do
  time=0.05
  if ((i >= 11)); then time=0.15; fi
  {
    echo "# commit $i"
    if ((i == 8)); then echo 'exit 9'; fi
    echo "sleep $time"
  } >program.in
  if ((i == 6)); then rm program.in; fi
  git add -A
  git commit -q -m "commit number $i"
  git tag "c$i"
done
readonly BUILD='cp program.in program.sh'

# bisects CODE ARGS...: duel's exit code; record in $tmp/out.
bisects() {
  local code="$1"
  shift
  "$DUEL" --bisect --repository="$repo" --seed=1 "$@" >"$tmp/out" 2>"$tmp/err"
  local got=$?
  [[ $got -eq $code ]] ||
    fail "duel --bisect $*: exit code $got, expected $code: $(cat "$tmp/err")"
}

# field EXPRESSION: of the last record, b.
field() {
  python3 -c 'import json, sys
b = json.loads(open(sys.argv[1]).read().splitlines()[-1])
print(eval(sys.argv[2]))' "$tmp/out" "$1"
}

bisects 0 --good=c0 --bad=main --build="$BUILD" --command='sh program.sh'
expect_eq "the commit" "$(field 'b["commit"]')" "$(git rev-parse c11)"
expect_eq "verdict" "$(field 'b["verdict"]')" found
expect_eq "commits" "$(field 'b["commits"]')" 16
expect_eq "it is sure" "$(field 'b["probability"] >= 0.99')" True
expect_eq "it is a candidate" \
  "$(field '[e["subject"] for e in b["evidence"] if e["is_candidate"]]')" \
  "['commit number 11']"
expect_eq "all pairs are counted" \
  "$(field 'sum(e["pairs"] for e in b["evidence"]) == b["pairs"]')" True
grep -q 'pairs per job' "$tmp/err" && fail "the cost of a duel: $(cat "$tmp/err")"
grep -q 'is the first slower commit.*commit number 11' "$tmp/err" ||
  fail "no summary: $(cat "$tmp/err")"
grep -q 'skips .*: the command failed: exit code 9' "$tmp/err" ||
  fail "the commit that fails is not named: $(cat "$tmp/err")"
expect_eq "worktrees are gone" "$(git worktree list | wc -l)" 1
expect_eq "folders are gone" "$(find "$tmp" -name 'duel_bisect_*')" ""

# Backwards it is the commit that made it faster, among commits that cannot be
# measured.
git checkout -q -b back c10
for i in 1 2 3; do
  rm -f program.in
  if ((i == 3)); then echo "sleep 0.001" >program.in; fi
  git add -A
  git commit -q --allow-empty -m "back $i"
done
bisects 4 --good=c10 --bad=back --build="$BUILD" --command='sh program.sh'
grep -q 'one of the 3 commits' "$tmp/err" || fail "no group: $(cat "$tmp/err")"
expect_eq "three candidates" \
  "$(field 'sum(e["is_candidate"] for e in b["evidence"])')" 3
expect_eq "it is faster" "$(field 'b["effect"]["percent"] < 0')" True
git checkout -q main

# Builds stay where they are told to.
bisects 0 --good=c10 --bad=c12 --build="$BUILD" --command='sh program.sh' \
  --worktrees="$tmp/kept"
expect_eq "builds" "$(field 'b["builds"]')" 3
bisects 0 --good=c10 --bad=c12 --build="$BUILD" --command='sh program.sh' \
  --worktrees="$tmp/kept"
expect_eq "builds of the second search" "$(field 'b["builds"]')" 0
bisects 0 --good=c10 --bad=c12 --build="$BUILD; true" \
  --command='sh program.sh' --worktrees="$tmp/kept"
expect_eq "builds of another command" "$(field 'b["builds"]')" 3

# What another user could have put there is not run.
chmod 0777 "$tmp/kept"
bisects 1 --good=c10 --bad=c12 --build="$BUILD" --command='sh program.sh' \
  --worktrees="$tmp/kept"
grep -q 'other users can write it' "$tmp/err" || fail "$(cat "$tmp/err")"

# Ends that cannot be built or run, and the caller's mistakes.
bisects 2 --good=c6 --bad=c12 --build="$BUILD" --command='sh program.sh'
grep -q -- '--good: the build failed' "$tmp/err" || fail "no reason for exit 2"
bisects 2 --good=c0 --bad=c8 --build="$BUILD" --command='sh program.sh'
bisects 1 --good=c0 --bad=nothing --command=true
grep -q -- '--bad: "nothing" is not a commit' "$tmp/err" || fail "no revision"
bisects 1 --good=c12 --bad=c0 --command=true
grep -q 'is not before' "$tmp/err" || fail "order: $(cat "$tmp/err")"
bisects 1 --good=c0 --bad=c12
bisects 1 --good=c0 --bad=c12 --command=true --a=true
bisects 1 --good=c0 --bad=c12 --command=true --confidence=100
bisects 1 --good=c0 --bad=c12 --command=true --repository="$tmp"

# Exit codes for `git bisect run`, with git itself.
cat >"$tmp/step.sh" <<STEP
$BUILD || exit 125
# Another program uses other memory, and this is about time.
"$DUEL" --a='sleep 0.05' --b='sh program.sh' --pairs=20 --quiet --no-controls \
  --metrics=time |
  "$COMPARE" --paired --interest=60 --metrics=time --bisect-exit-codes >/dev/null
STEP
git bisect start c12 c5 >/dev/null 2>&1
git bisect run sh "$tmp/step.sh" >"$tmp/git" 2>&1
grep -q "$(git rev-parse c11) is the first bad commit" "$tmp/git" ||
  fail "git bisect run: $(tail -5 "$tmp/git")"
git bisect reset >/dev/null 2>&1

# compares CODE: of compare_baseline for `git bisect run`, with input on stdin.
compares() {
  local code="$1"
  shift
  "$COMPARE" --bisect-exit-codes "$@" >/dev/null 2>"$tmp/err"
  local got=$?
  expect_eq "compare_baseline --bisect-exit-codes $*" "$got" "$code"
}
"$DUEL" --a='exit 3' --b=true --quiet 2>/dev/null | compares 125 --paired
echo | compares 125 --paired
"$DUEL" --a=true --b=true --pairs=2 --quiet | compares 125 --paired
compares 128 --current="$tmp/none"
grep -q 'none' "$tmp/err" || fail "the mistake is not told"

finish
