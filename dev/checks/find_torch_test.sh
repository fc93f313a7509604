#!/bin/bash
# third_party/torch/find_torch.sh takes the first torch in its order, and says
# what to run when there is none.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# torch_at FOLDER VERSION: enough of a torch to be found.
torch_at() {
  mkdir -p "$1/lib"
  touch "$1/lib/libtorch_cpu.so"
  echo "__version__ = '$2+cu130'" >"$1/version.py"
}

# python_with FOLDER: a python3 whose torch is there.
python_with() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\necho "%s"\n' "$1" >"$work/bin/python3"
  chmod +x "$work/bin/python3"
}

# expect FOLDER [NAME=VALUE...]: what is found; a dash is an error.
expect() {
  local expected="$1" found
  shift
  found="$(env -u TORCH_ROOT XDG_CACHE_HOME="$work/cache" \
    PATH="$work/bin:$PATH" "$@" "$REPO_ROOT/third_party/torch/find_torch.sh" \
    2>"$work/stderr")" || found=-
  [[ "$found" == "$expected" ]] ||
    die "find_torch_test: expected $expected, found $found"
}

python_with ""
expect -
grep -q 'make torch' "$work/stderr" || die "the remedy is not named"

# Not one in the current folder, by any way: it may be anybody's.
mkdir "$work/anybodys"
torch_at "$work/anybodys/torch" 2.11.0
touch "$work/anybodys/torch/__init__.py"
torch_at "$work/anybodys/c/feedrate/libtorch/torch-1-$(uname -m)/torch" 2.11.0
ln -sf "$FEEDRATE_PYTHON" "$work/bin/python3"
(
  cd "$work/anybodys"
  expect -
  expect - XDG_CACHE_HOME=c
)
rm "$work/bin/python3"

torch_at "$work/system/torch" 2.9.1
python_with "$work/system/torch"
expect "$work/system/torch"
grep -q '2.9.1.*tested is 2.11.0' "$work/stderr" || die "no note on 2.9.1"

venvs="$work/cache/feedrate/venvs"
torch_at "$venvs/a/lib/python3.11/site-packages/torch" 2.10.0
expect "$work/system/torch"
torch_at "$venvs/b/lib/python3.11/site-packages/torch" 2.11.0
expect "$venvs/b/lib/python3.11/site-packages/torch"

torch_at "$work/cache/feedrate/libtorch/torch-4567-other/torch" 2.11.0
own="$work/cache/feedrate/libtorch/torch-0123-$(uname -m)/torch"
torch_at "$own" 2.11.0
expect "$own"

torch_at "$work/root" 2.8.0
expect "$work/root" TORCH_ROOT="$work/root"
# A wrong TORCH_ROOT is an error, not a reason to take something else.
expect - TORCH_ROOT="$work/nowhere"
grep -q "TORCH_ROOT=$work/nowhere" "$work/stderr" || die "TORCH_ROOT not named"
