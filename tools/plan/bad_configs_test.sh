#!/bin/bash
# Broken configs, quotas and catalogues: each exits with 1, writes nothing to
# standard output, and writes one line to standard error with the file, the
# place in it and the problem. The first line of each case has that line; see
# testdata/bad_inputs/BUILD.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly PLAN=tools/plan/plan
readonly GOOD=configs/paper/prod_c4_rgb_micro_cpu.textproto
count=0

# Writes each case of a table as a file of its own.
split_cases() { # table folder
  local line name form base file="" line_break
  mkdir -p "$2"
  while IFS= read -r line; do
    if [[ "$line" == "=== "* ]]; then
      read -r _ name form base <<<"$line"
      file="$2/$name"
      [[ ! -e "$file" ]] || fail "$1: $name is there twice"
      : >"$file"
      line_break=""
    elif [[ "$form" == escaped ]]; then
      printf '%b' "$line_break$line" >>"$file"
      line_break='\n'
    elif [[ "$form" == from && "$line" == "# expect: "* ]]; then
      printf '%s\n' "$line" | cat - "$2/$base" >"$file"
    elif [[ "$form" == from && "$line" == s/* ]]; then
      sed -i "$line" "$file"
    else
      printf '%s\n' "$line" >>"$file"
    fi
  done <"$1"
}

# Sets `expected` and `flags` from the head of a file.
read_head() { # file
  local first second
  {
    IFS= read -r first
    IFS= read -r second
  } <"$1" 2>/dev/null
  [[ "$first" == "# expect: "* ]] || fail "$1: no line '# expect: …'"
  expected="${first#\# expect: }"
  flags=()
  [[ "$second" != "# flags: "* ]] || read -ra flags <<<"${second#\# flags: }"
}

# expect_error FILE PATH FLAG...: what FILE expects, with PATH as its place.
expect_error() {
  local file="$1" place="$2" code lines
  shift 2
  read_head "$file"
  "$PLAN" "$@" ${flags[@]+"${flags[@]}"} >"$TEST_TMPDIR/out" \
    2>"$TEST_TMPDIR/err"
  code=$?
  mapfile -t lines <"$TEST_TMPDIR/err"
  count=$((count + 1))
  [[ $code -eq 1 ]] || fail "$file: exit code $code"
  [[ ! -s "$TEST_TMPDIR/out" ]] || fail "$file: wrote to standard output"
  [[ ${#lines[@]} -eq 1 ]] || fail "$file: not one line: ${lines[*]}"
  [[ "${lines[0]-}" == "plan: $place$expected"* ]] ||
    fail "$file: got '${lines[0]-}', expected 'plan: $place$expected…'"
}

for kind in configs quotas catalogues; do
  split_cases "testdata/bad_inputs/$kind.cases" "$TEST_TMPDIR/bad_$kind"
done

for file in "$TEST_TMPDIR"/bad_configs/*; do
  expect_error "$file" "$file" --configs=configs --config="$file"
done
configs=$count
[[ $configs -ge 93 ]] || fail "only $configs broken configs"

for file in "$TEST_TMPDIR"/bad_quotas/*; do
  expect_error "$file" "$file" --configs=configs --config="$GOOD" \
    --emit=waves --quota="$file"
done

# A copy whose files can be replaced; runfiles are links.
folder="$TEST_TMPDIR/configs"
cp -rL configs "$folder"
chmod -R u+w "$folder"
for file in "$TEST_TMPDIR"/bad_catalogues/*; do
  name="$(basename "$file")"
  case "$name" in
    base_*) continue ;;
    matrix_*) target=matrix.textproto ;;
    policy_*) target=policy.textproto ;;
    rgb_*) target=transforms/rgb.textproto ;;
    throughput_*) target=published/throughput.csv ;;
    *) fail "$file: replaces nothing" && continue ;;
  esac
  cp "$folder/$target" "$TEST_TMPDIR/kept"
  case "$name" in
    *.csv) tail -n +2 "$file" >"$folder/$target" ;;
    *) cat "$file" >"$folder/$target" ;;
  esac
  expect_error "$file" "$folder/$target" --configs="$folder" --config="$GOOD"
  cp "$TEST_TMPDIR/kept" "$folder/$target"
done
# The copy itself is fine.
"$PLAN" --configs="$folder" --config="$GOOD" >/dev/null ||
  fail "the copy of configs/ does not plan"

[[ $count -ge 120 ]] || fail "only $count broken files"
echo "$count broken files, $configs of them configs"
finish
