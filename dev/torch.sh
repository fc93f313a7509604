#!/bin/bash
# Fetches libtorch for C++ on a CPU: the wheels of third_party/torch/torch.lock,
# unpacked side by side in the user's cache, where third_party/torch finds them.
# Their own library paths are relative and lead from one to the other.
#
#   dev/torch.sh            for this processor; prints where it is
#   dev/torch.sh x86_64     for dev/cross.sh: TORCH_ROOT=$(dev/torch.sh x86_64)
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# In a checkout third_party/torch/, in a bundle lib/.
home="$REPO_ROOT/third_party/torch"
if [[ ! -d "$home" ]]; then home="$REPO_ROOT/lib"; fi
lock="$home/torch.lock"
hash="$(sha256sum <"$lock" | cut -c1-16)"
arch="${1:-$(uname -m)}"
folder="$FEEDRATE_CACHE/libtorch/torch-$hash-$arch"
platform=()
if [[ "$arch" != "$(uname -m)" ]]; then
  platform=(--only-binary=:all: "--platform=manylinux_2_28_$arch"
    "--platform=manylinux_2_25_$arch" "--platform=manylinux2014_$arch")
fi

if [[ ! -d "$folder" ]]; then
  mkdir -p "$FEEDRATE_CACHE/libtorch"
  work="$(mktemp -d "$FEEDRATE_CACHE/libtorch/.new.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  "$FEEDRATE_PYTHON" -m venv "$work/pip" ||
    die "$FEEDRATE_PYTHON -m venv failed; install python3-venv"
  python="$work/pip/bin/python"
  say "fetching libtorch (about 440 MB)"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
    "${platform[@]}" --requirement "$lock" --dest "$work/wheels"
  for wheel in "$work"/wheels/*.whl; do
    "$python" -m zipfile -e "$wheel" "$work/unpacked"
  done
  # Whole or absent, also when two fetch at once: the second rename fails.
  mv -T "$work/unpacked" "$folder" 2>/dev/null || [[ -d "$folder" ]]
fi
if [[ "$arch" != "$(uname -m)" ]]; then
  echo "$folder/torch"
else
  "$home/find_torch.sh"
fi
