#!/bin/bash
# dev/envs.sh: says what there is when asked for what there is not, and is quick
# where everything is made; with --full also the commands of
# docs/adapters_python.md that show what changed between two sets, for minutes.
# Makes Pillow's environments at most.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

fail() {
  say "envs_test: $*"
  exit 1
}

if out="$(ENV_SET=nosuch dev/envs.sh 2>&1)"; then fail "made a set nosuch"; fi
[[ "$out" == *"no environment set nosuch; there are: current paper"* ]] ||
  fail "$out"
if out="$(GROUPS_WANTED=nosuch dev/envs.sh 2>&1)"; then fail "made nosuch"; fi
[[ "$out" == *"there are: albumentationsx "*" torch_stack"* ]] ||
  fail "$out"

out="$(make --no-print-directory envs GROUPS=pillow 2>/dev/null)"
env="$(dev/python_env.sh --made configs/requirements/paper/pillow.lock)"
[[ "$out" == "pillow"$'\t'"$env" ]] || fail "printed: $out"
version="$("$env/bin/python" -c 'import PIL; print(PIL.__version__)')"
[[ "$version" == 12.2.0 ]] || fail "Pillow $version"

# What the paper measured has versions of today, which may have more.
for file in configs/requirements/paper/*; do
  [[ -e "configs/requirements/current/${file##*/}" ]] ||
    fail "the set current lacks ${file##*/}"
done

if [[ "${1:-}" != --full ]]; then exit 0; fi
ENV_SET=current GROUPS_WANTED=pillow dev/envs.sh >/dev/null
dev/bazel.sh build --show_result=0 //tools/micro //tools/report //tools/duel \
  //tools/compare_baseline
for program in micro report duel compare_baseline; do
  PATH="$REPO_ROOT/bazel-bin/tools/$program:$PATH"
done
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
export PATH out
status=0
bash -euo pipefail <(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 }
  inside' docs/adapters_python.md) >"$out/log" 2>&1 || status=$?
# The last command compares: 0 the same or faster, 3 slower, 4 cannot tell.
[[ $status =~ ^(0|3|4)$ ]] || fail "exit $status: $(tail -n 5 "$out/log")"
version_in() { sed -n 's/^#: pillow==//p' "configs/requirements/$1/pillow.lock"; }
change="$(version_in paper) → $(version_in current)"
grep -q "library pillow; version $change;" "$out/changes.md" ||
  fail "changes.md does not say $change"
grep -q '^3 cells are in both' "$out/changes.md" || fail "cells do not meet"
count="$(grep -c '^pillow .* \(same\|faster\|slower\|cannot tell\) ' "$out/log")" ||
  true
[[ "$count" == 3 ]] || fail "$count of 3 jobs have a verdict"
