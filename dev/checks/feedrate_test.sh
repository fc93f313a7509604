#!/bin/bash
# `feedrate` in the build tree: help, list, completion, mistakes. A program
# behaves the same with and without it. dev/checks/bundle_test.sh tests it in a
# bundle.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=tools/testing/checks.sh
source "$REPO_ROOT/tools/testing/checks.sh"
cd "$REPO_ROOT"

dev/bazel.sh build --noshow_progress //tools/plan //tools/micro //tools/mixture \
  //tools/aggregate //tools/pipeline //tools/report \
  //lib/adapters/native:worker_native

expect_eq list "$(./feedrate list)" \
  "$(find tools -name main.cc | cut -d/ -f2 | LC_ALL=C sort)"
help="$(./feedrate --help)"
for name in $(./feedrate list); do
  grep -q "^  $name  " <<<"$help" || fail "help does not name $name"
done
grep -q '^  plan  *list the jobs' <<<"$help" || fail "help does not describe plan"
grep -q envs.sh <<<"$help" && fail "help shows more than its own lines"

expect_eq version "$(./feedrate --version)" \
  "feedrate $(bazel-bin/tools/plan/plan --version | cut -d' ' -f2-)"

# From anywhere, also through a link, with the program's arguments and exit code.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
ln -s "$REPO_ROOT/feedrate" "$work/feedrate"
expect_eq link "$(cd / && "$work/feedrate" plan --version)" \
  "$(bazel-bin/tools/plan/plan --version)"
code=0
err="$(./feedrate plan --sweep='a b' --no_such 2>&1)" || code=$?
expect_eq "exit code" "$code" 1
expect_eq arguments "$err" "plan: unknown flag --no_such; --help lists the flags"
for mistake in "" frobnicate ../plan --completion=csh; do
  code=0
  err="$(./feedrate "$mistake" 2>&1 >/dev/null)" || code=$?
  expect_eq "mistake '$mistake'" "$code" 1
  [[ "$err" == *feedrate* ]] || fail "mistake '$mistake': $err"
done
err="$(./feedrate micr 2>&1)" && fail "micr is a program"
expect_eq suggestion "$err" \
  'feedrate: no program "micr"; did you mean "micro"?; feedrate list names them'
# Programs print commands as people type them.
err="$(./feedrate micro </dev/null 2>&1)" && fail "micro without jobs"
expect_eq "a printed command" "$err" "micro: no jobs on standard input; \
./feedrate plan --config=FILE makes them"

# Exit 2 only if a line says broken; dev/checks/wheel_test.sh breaks something.
code=0
table="$(./feedrate doctor)" || code=$?
expect_eq doctor "$code" "$(grep -q ' broken ' <<<"$table" && echo 2 || echo 0)"
# It looks where the build puts workers.
grep -q '^worker native  *ok  *native 1' <<<"$table" ||
  fail "doctor does not find what was built: $table"
for check in programs 'worker cuda' python torch gpu perf memory quiet; do
  grep -q "^$check  " <<<"$table" || fail "doctor does not look at $check"
done

# Files of one's own: the table, what limits it, what it feeds, the page.
./feedrate bench testdata/media --output="$work/bench" --libraries=native \
  --runs=3 >"$work/answer" 2>"$work/err" || fail "bench: $(cat "$work/err")"
for words in '^[0-9]* images, ' '^  native  *[0-9,]*   [0-9,]* to ' \
  'native is the only loader that ran here' 'of its limit, jpeg decode' \
  '^  ResNet-50, A100 80 GB  *2,470  *[0-9]*%'; do
  grep -q "$words" "$work/answer" || fail "bench: $(cat "$work/answer")"
done
[[ -s "$work/bench/report.html" ]] || fail "bench makes no page"
for mistake in "$work/none: No such file or directory; name a folder" \
  "$work/bench: no images, videos or episodes"; do
  err="$(./feedrate bench "${mistake%%: *}" 2>&1)" && fail "bench: $mistake"
  [[ "$err" == *"$mistake"* ]] || fail "bench: $err"
done

# What is left out is told: files that cannot be used, and those beyond a part.
mkdir "$work/many"
for ((i = 0; i < 399; ++i)); do
  ln -s "$REPO_ROOT/testdata/media/gray_1.png" "$work/many/$i.png"
done
for i in 1 2; do echo "no image" >"$work/many/$i.jpg"; done
./feedrate bench "$work/many" --output="$work/bench" --libraries=native --runs=1 \
  >"$work/answer" 2>"$work/err" || fail "bench of many: $(cat "$work/err")"
for words in '^401 images, .*; the first 400 are read; ' \
  '^  [12] of 400 files cannot be used; the first is .*jpg: is of an unknown'; do
  grep -q "$words" "$work/answer" || fail "bench of many: $(cat "$work/answer")"
done

code=0
err="$(./feedrate bench --runs=x testdata/media 2>&1)" || code=$?
expect_eq "bench --runs=x" "$code $(wc -l <<<"$err")" "1 1"
err="$(./feedrate bench testdata/media/BUILD 2>&1)" && fail "bench of a file"
[[ "$err" == *"Not a directory; name a folder"* ]] || fail "bench: $err"

# Alone it shows three commands that fit the folder, and starts nothing.
mkdir "$work/empty"
for folder in "$REPO_ROOT/testdata/media" "$work/empty"; do
  first="$(cd "$folder" && "$REPO_ROOT/feedrate")" || fail "feedrate alone: $?"
  expect_eq "commands of feedrate alone" \
    "$(grep -c "^  $REPO_ROOT/feedrate " <<<"$first")" 3
  case "$folder$first" in
    "$work/empty"*"feedrate bench FOLDER"*) ;;
    "$REPO_ROOT"*"Here: "*" images in this folder, "*"feedrate bench ."*) ;;
    *) fail "in $folder: $first" ;;
  esac
done

# A fresh checkout: it has no data of yours, and nothing is built in it.
fresh="$work/fresh"
mkdir -p "$fresh/tools/pipeline"
cp feedrate MODULE.bazel "$fresh"
cp tools/pipeline/{bench_folder,first_commands}.py "$fresh/tools/pipeline"
cp -r testdata "$fresh"
first="$(cd "$fresh" && ./feedrate)" || fail "feedrate alone, unbuilt: $?"
[[ "$first" == *"./feedrate bench FOLDER"* && "$first" != *"bench ."* ]] ||
  fail "in a fresh checkout: $first"
printf '#!/bin/sh\nexec sleep 60\n' >"$fresh/nvidia-smi"
chmod +x "$fresh/nvidia-smi"
first="$(cd "$fresh" && PATH="$fresh:$PATH" ./feedrate)" || fail "a GPU that hangs: $?"
[[ "$first" == *"a driver that does not answer (nvidia-smi)"* ]] ||
  fail "a GPU that hangs: $first"
code=0
err="$("$fresh/feedrate" bench testdata/media 2>&1)" || code=$?
expect_eq "bench of an unbuilt checkout" "$code $err" \
  "1 bench: not built yet: aggregate, report; make build"

# On a busy machine a runner says so at once, and goes on.
for ((i = 0; i < $(nproc); ++i)); do
  timeout 60 sh -c 'while :; do :; done' &
  busy+=("$!")
done
./feedrate pipeline --config=configs/demo_pipeline.textproto --num_runs=1 \
  --num_items=8 --quiet_wait=2 --stable_within=0 >"$work/rows.jsonl" 2>"$work/err" || true
kill "${busy[@]}"
grep -q '^pipeline: the machine is busy with other work (load' "$work/err" ||
  fail "a busy machine: $(cat "$work/err")"

# Rows are enough to repeat them, with the program that has measured them; a row
# that was changed, and commands of others, are not.
job_ids() { grep '"record":"row"' "$1" | grep -o '"job_id":"[^"]*"' | sort -u; }
./feedrate again "$work/rows.jsonl" --quiet_wait=2 --stable_within=0 --output=- \
  >"$work/again.jsonl" 2>"$work/err" || fail "again: $(cat "$work/err")"
[[ -n "$(job_ids "$work/rows.jsonl")" ]] || fail "no rows to repeat"
expect_eq "jobs again" "$(job_ids "$work/again.jsonl")" "$(job_ids "$work/rows.jsonl")"
sed 's/"mode":"pipeline"/"mode":"sh"/' "$work/rows.jsonl" >"$work/changed.jsonl"
err="$(./feedrate again "$work/changed.jsonl" 2>&1)" && fail "again: a changed row"
[[ "$err" == *"the row was changed"*"none of the rows can be repeated"* ]] ||
  fail "again: $err"
err="$(./feedrate again 2>&1)" && fail "again: no file"
expect_eq "again without a file" "$err" "feedrate: again: which file of rows?"

# A study, from the checkout and from a folder like a bundle.
bundle="$work/bundle"
mkdir -p "$bundle/bin" "$bundle/libexec"
cp feedrate "$bundle/bin"
cp tools/mixture/study.py "$bundle/libexec"
ln -s "$REPO_ROOT/configs" "$bundle/configs"
for name in plan mixture; do
  ln -s "$REPO_ROOT/bazel-bin/tools/$name/$name" "$bundle/bin/$name"
done
for command in ./feedrate "$bundle/bin/feedrate"; do
  "$command" study --output="$work/study" --rounds=1 --steps=4 --warmup=1 \
    --dataset=synthetic:episodes,datasets=2,episodes=2,frames=8 mix_block \
    >"$work/takeaways" 2>"$work/err" || fail "study: $(tail -n 3 "$work/err")"
  grep -q '^  mix_block_length 4: .* samples/s' "$work/takeaways" ||
    fail "study: $(cat "$work/takeaways")"
done
# A million batches do not fit into a second: it stops, says so, and exits with 3.
code=0
./feedrate study --output="$work/late" --steps=1000000 --minutes=0.01 \
  --dataset=synthetic:episodes,datasets=2,episodes=2,frames=8 mix_block cpus \
  >"$work/takeaways" 2>"$work/err" || code=$?
expect_eq "a study without time" "$code" 3
expect_eq "studies that say so" \
  "$(grep -c 'its time was over after 0 of 6 rounds' "$work/takeaways")" 2
err="$(./feedrate study --output=x no_such 2>&1)" && fail "no_such is a study"
[[ "$err" == *"no study no_such; there are cpus,"* ]] || fail "study: $err"
rm "$bundle/bin/mixture"
err="$("$bundle/bin/feedrate" study --output="$work/x" mix_block 2>&1)" &&
  fail "a study without mixture"
[[ "$err" == *"mixture is missing; use a bundle that has it"* ]] || fail "$err"

# complete WORD...: what bash would offer for the last word.
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _feedrate 2>/dev/null || true
  echo "${COMPREPLY[*]}"
}
# shellcheck disable=SC1090
source <(./feedrate --completion=bash)
expect_eq "first word" "$(complete_words ./feedrate pl)" plan
expect_eq "a flag" "$(complete_words ./feedrate plan --emi)" "--emit="
expect_eq "a value" "$(complete_words ./feedrate plan --emit = wav)" waves
grep -q "seen_subcommand_from plan' -l emit" <(./feedrate --completion=fish) ||
  fail "fish does not complete plan --emit"
if command -v zsh >/dev/null; then
  ./feedrate --completion=zsh | zsh -n || fail "zsh cannot read its script"
else
  say "no zsh here, so its completion script was not read"
fi
if command -v fish >/dev/null; then
  expect_eq "a list in fish" "$(PATH="$PWD:$PATH" fish -c \
    'source (feedrate --completion=fish | psub); complete -C "feedrate micro --libraries=pillow,openc"' |
    cut -f 1)" "--libraries=pillow,opencv"
else
  say "no fish here, so its completion was not tried"
fi
finish
