#!/bin/bash
# Follows docs/distrust.md: runs its command as printed, in a copy of examples/, and
# measures all cheats, and honest code beside them (tools/micro/cheats).
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

dev/bazel.sh build --show_result=0 //tools/micro
micro="$REPO_ROOT/bazel-bin/tools/micro/micro"
export FEEDRATE_WORKERS="$REPO_ROOT:$REPO_ROOT/bazel-bin"
python="$(dev/python_env.sh configs/requirements/paper/pillow.lock)/bin/python3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp -r examples configs "$work"
mkdir "$work/bin"
ln -s "$micro" "$work/bin/micro"

fail() {
  say "distrust_test: $*"
  exit 1
}

lines="$(awk '/^```/ { inside = !inside; next } inside' docs/distrust.md)"
[[ -n "$lines" ]] || fail "docs/distrust.md has no command"
(cd "$work/examples" && PATH="$work/bin:$(dirname "$python"):$PATH" \
  bash -euo pipefail -c "$lines") >"$work/log" 2>&1 || fail "$(tail -n 5 "$work/log")"
# This one has another idea of gray than its reference, and one has none.
grep -q '2 failed' "$work/log" || fail "$(cat "$work/log")"

# wrong WORDS FLAGS: micro says the words and exits with 1.
wrong() {
  local words="$1" status=0 out
  shift
  out="$(cd "$work/examples" && "$micro" --python="$python" --distrust "$@" 2>&1)" ||
    status=$?
  [[ $status -eq 1 && "$out" == *"$words"* ]] ||
    fail "$*: exit $status: $out"
}
wrong 'is for subjects; leave out opencv' \
  --config="$work/configs/demo.textproto"
wrong 'leave out --verify' --subject=my_transforms:transforms --verify

tools/micro/cheats/run.py --micro="$micro" --python="$python" >"$work/table" ||
  fail "$(cat "$work/table")"
tail -n 1 "$work/table"
