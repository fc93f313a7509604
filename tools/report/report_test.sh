#!/bin/bash
# Runs the real program over a small campaign.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly TOOL=tools/report/report
readonly ROWS=lib/analysis/testing/rows.jsonl
readonly EARLIER=lib/analysis/testing/earlier.jsonl
readonly TARGETS=configs/gate/targets.textproto
readonly GOLDEN=tools/report/testdata

expect_exit() { # code args...
  local expected="$1" actual=0
  shift
  "$TOOL" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || actual=$?
  [[ "$actual" == "$expected" ]] ||
    fail "report $*: exit $actual, expected $expected: $(cat "$TEST_TMPDIR/err")"
}

expect_golden() { # file name
  if [[ -n "${FEEDRATE_GOLDEN_OUT:-}" ]]; then
    mkdir -p "$FEEDRATE_GOLDEN_OUT/$GOLDEN"
    cp "$1" "$FEEDRATE_GOLDEN_OUT/$GOLDEN/$2"
  fi
  diff -u "$GOLDEN/$2" "$1" >&2 || fail "$2 differs"
}

# The page: whole, alone, the same each time and in any order of files.
expect_exit 0 "$ROWS" --output="$TEST_TMPDIR/report.html"
[[ ! -s "$TEST_TMPDIR/out" ]] || fail "a page in a file still writes output"
grep -q '</html>' "$TEST_TMPDIR/report.html" || fail "the page is not whole"
if grep -qE 'https?:|src=|@import' "$TEST_TMPDIR/report.html"; then
  fail "the page refers to something outside"
fi
grep -q 'a profiler, not training throughput' "$TEST_TMPDIR/report.html" ||
  fail "micro is not headed as a profiler"
order=$(grep -oE '<section id="(summary|pipelines|micro|repeat)"' \
  "$TEST_TMPDIR/report.html" | tr -d '\n')
[[ "$order" == *summary*pipelines*micro*repeat* ]] || fail "order: $order"
split -n l/3 "$ROWS" "$TEST_TMPDIR/part."
expect_exit 0 "$TEST_TMPDIR"/part.{ac,aa,ab} --output="$TEST_TMPDIR/again.html"
cmp "$TEST_TMPDIR/report.html" "$TEST_TMPDIR/again.html" ||
  fail "the order of files changes the page"
expect_exit 0 - --output=- <"$ROWS"
cmp "$TEST_TMPDIR/report.html" "$TEST_TMPDIR/out" || fail "standard input differs"

# Markdown with changes and targets.
expect_exit 3 "$ROWS" --format=markdown --baseline="$EARLIER" --targets="$TARGETS"
expect_golden "$TEST_TMPDIR/out" report.golden.md

# A library that no row has cannot be what others are compared with.
expect_exit 1 "$ROWS" --relative-to=kornja --output="$TEST_TMPDIR/none.html"
grep -q 'did you mean "kornia"' "$TEST_TMPDIR/err" || fail "$(cat "$TEST_TMPDIR/err")"
[[ ! -e "$TEST_TMPDIR/none.html" ]] || fail "a page in spite of an error"

# Targets alone.
expect_exit 3 "$ROWS" --targets="$TARGETS"
expect_golden "$TEST_TMPDIR/out" targets.golden.txt
grep '"record":"run"\|"library":"null"' "$ROWS" >"$TEST_TMPDIR/harness.jsonl"
expect_exit 4 "$TEST_TMPDIR/harness.jsonl" --targets="$TARGETS"

# Figures: well formed by a parser that is not ours.
expect_exit 0 "$ROWS" --svg="$TEST_TMPDIR/figures"
python3 - "$TEST_TMPDIR"/figures/*.svg <<'PYTHON' || fail "a figure is not XML"
import sys
import xml.etree.ElementTree as tree
for path in sys.argv[1:]:
    root = tree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg", path
    assert float(root.get("width")) > 0 and float(root.get("height")) > 0, path
assert len(sys.argv) > 15, sys.argv
PYTHON

# Claims.
cat >"$TEST_TMPDIR/paper.md" <<'MARKDOWN'
Blur is 4.6x <!-- rows: ratio(throughput, library=="albumentationsx", library=="pillow", transform=="GaussianBlur", mode=="micro") --> as fast.
There are 2 <!-- rows: distinct(machine_profile) --> machines.
MARKDOWN
expect_exit 0 "$ROWS" --check-claims="$TEST_TMPDIR/paper.md"
sed -i 's/4\.6x/4.9x/' "$TEST_TMPDIR/paper.md"
expect_exit 3 "$ROWS" --check-claims="$TEST_TMPDIR/paper.md"
grep -q 'paper.md:1: 4.9, but rows say 4.6' "$TEST_TMPDIR/out" ||
  fail "claims: $(cat "$TEST_TMPDIR/out")"
echo 'one <!-- rows: nosuch() -->' >"$TEST_TMPDIR/bad.md"
expect_exit 1 "$ROWS" --check-claims="$TEST_TMPDIR/bad.md"
echo 'no numbers' >"$TEST_TMPDIR/none.md"
expect_exit 5 "$ROWS" --check-claims="$TEST_TMPDIR/none.md"

# Mistakes.
expect_exit 5
expect_exit 1 "$TEST_TMPDIR/nosuch.jsonl"
expect_exit 1 "$ROWS" --targets="$TEST_TMPDIR/nosuch.textproto"
expect_exit 1 "$ROWS" --nosuch
expect_exit 5 /dev/null
sed 's/xeon-8481c/other/' "$EARLIER" >"$TEST_TMPDIR/other.jsonl"
expect_exit 5 "$ROWS" --format=markdown --baseline="$TEST_TMPDIR/other.jsonl"
{
  cat "$ROWS"
  printf '{"schema":1,"record":"row","job'
} >"$TEST_TMPDIR/torn.jsonl"
expect_exit 0 "$TEST_TMPDIR/torn.jsonl" --output="$TEST_TMPDIR/torn.html"
expect_exit 0 --help

finish
