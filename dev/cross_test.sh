#!/bin/bash
# Builds the unit tests for the other processor, with what they read, as one folder
# that needs neither Bazel nor a compiler where it runs:
#
#   dev/cross_test.sh [FOLDER]        default dist/cross_test
#   copy it there, then: FOLDER/cross_test.sh [PATTERN]
#
# There it runs the tests whose names contain PATTERN, as many at a time as there
# are processors, and ends with "N passed, N failed". FEEDRATE_FULL=1 makes them
# thorough, as in `make test-full`. Tests that need a GPU or torch are not among
# them: dev/gpu_bundle.sh has those.
set -euo pipefail

# run_one PATH ARGUMENT...: one test, in a folder of its own with its own files.
run_one() {
  local name="$1" started="$EPOCHREALTIME" status=0 tmp
  tmp="$(mktemp -d)"
  mkdir "$tmp/feedrate" "$tmp/tmp"
  ln -s "$PWD/../lib" "$tmp/lib"
  xargs -a "$1.files" -d '\n' cp --parents -t "$tmp/feedrate"
  (cd "$tmp/feedrate" && TEST_TMPDIR="$tmp/tmp" TEST_SRCDIR="$tmp" \
    TEST_WORKSPACE=feedrate TEST_UNDECLARED_OUTPUTS_DIR="$tmp" \
    PATH=".:$PATH" timeout 900 "$@") >"$tmp/log" 2>&1 || status=$?
  if ((status != 0)); then
    tail -n 60 "$tmp/log"
    echo "FAILED $name (exit $status)"
  else
    # What a test did not try, and why.
    grep -A 1 ': Skipped$' "$tmp/log" || true
    awk -v name="$name" -v a="$started" -v b="$EPOCHREALTIME" \
      'BEGIN { printf "PASSED %s in %.1f s\n", name, b - a }'
  fi
  rm -rf "$tmp"
}

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [[ -e "$here/tests.txt" ]]; then
  cd "$here/feedrate"
  export -f run_one
  log="$(mktemp)"
  trap 'rm -f "$log"' EXIT
  # shellcheck disable=SC2016  # For the shell that xargs starts.
  grep -e "${1:-.}" "$here/tests.txt" |
    xargs -P "$(nproc)" -d '\n' -n 1 bash -c 'run_one $1' - | tee "$log"
  failed="$(grep -c '^FAILED ' "$log" || true)"
  grep '^FAILED ' "$log" || true
  echo "$(grep -c '^PASSED ' "$log" || true) passed, $failed failed"
  exit $((failed > 0))
fi

# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"
folder="${1:-dist/cross_test}"
ARCH="$CROSS_ARCH"
# shellcheck source=dev/libraries.sh
source dev/libraries.sh

all='kind(cc_test, tests(//...))'
mapfile -t tests < <(dev/bazel.sh query "$all except attr(tags, manual, $all)" \
  2>/dev/null)
# Data that the build makes with programs of its own is made for this machine, and
# the cross build goes on without.
dev/bazel.sh build "${tests[@]}"
dev/cross.sh build --keep_going "${tests[@]}" ||
  say "not all was built for $ARCH (see above)"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
rm -rf "$folder"
mkdir -p "$folder/lib"
cp dev/cross_test.sh "$folder"
# Bazel knows each test's program and arguments.
dev/cross.sh aquery --output=text "mnemonic(TestRunner, set(${tests[*]}))" \
  2>/dev/null |
  awk -v q="'" '/^ *Command Line:/ { line = ""; open = 1; next }
    open {
      open = !sub(/\)$/, "")
      sub(/ \\$/, "")
      gsub("^ *|" q, "")
      line = line (line == "" ? "" : " ") $0
      if (!open) print line
    }' >"$work/all"
while read -r path arguments; do
  if [[ ! -x "$built/$path" ]]; then
    say "left out: $path"
    continue
  fi
  mkdir -p "$folder/feedrate"
  (
    cd "$built/$path.runfiles/feedrate"
    find . -xtype l | sed 's|^\./||' >"$work/made"
    find -L . -type f | sed 's|^\./||' >"$work/files"
    tar -chT "$work/files" | tar -xC "$REPO_ROOT/$folder/feedrate"
  )
  tar -chC bazel-bin -T "$work/made" | tar -xC "$folder/feedrate"
  cat "$work/made" "$work/files" >"$folder/feedrate/$path.files"
  echo "$path${arguments:+ $arguments}"
done <"$work/all" >"$folder/tests.txt"

chmod -R u+w "$folder"
find "$folder/feedrate" -type f -perm -u+x -print0 |
  while IFS= read -r -d '' file; do
    if ! readelf -h "$file" >/dev/null 2>&1; then continue; fi
    add_libraries "$file" "$folder/lib"
    # shellcheck disable=SC2016  # $ORIGIN is for the dynamic linker.
    set_rpath "$file" \
      '$ORIGIN/'"$(realpath --relative-to="$(dirname "$file")" "$folder/lib")"
  done
say "$(wc -l <"$folder/tests.txt") tests for $ARCH in $folder," \
  "$(du -sh "$folder" | cut -f1)"
