#!/bin/sh
# Prints the folder of torch (with include/ and lib/ in it) and exits 0, or says
# what to do and exits 1. Looks at
#   1. TORCH_ROOT: this and nothing else where it is set,
#   2. what `make torch` unpacked,
#   3. feedrate's own Python environments,
#   4. the torch of python3 in PATH.
# The build and the launcher of bundles both use this, so they cannot disagree.
set -eu

version=2.11.0
cache="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/feedrate"
# Never something below the current folder, which may be anybody's.
case "$cache" in
  /*) ;;
  *) cache=/nonexistent ;;
esac

is_torch() { [ -e "$1/lib/libtorch_cpu.so" ]; }

version_of() {
  sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$1/version.py" 2>/dev/null
}

found() {
  echo "$1"
  exit 0
}

if [ -n "${TORCH_ROOT:-}" ]; then
  if is_torch "$TORCH_ROOT"; then found "$TORCH_ROOT"; fi
  echo "feedrate: TORCH_ROOT=$TORCH_ROOT has no lib/libtorch_cpu.so;" \
    "set it to the folder torch/ of a torch wheel" >&2
  exit 1
fi

for folder in "$cache"/libtorch/*-"$(uname -m)"/torch \
  "$cache"/venvs/*/lib/python3*/site-packages/torch; do
  if is_torch "$folder" && [ "$(version_of "$folder")" = "$version" ]; then
    found "$folder"
  fi
done

# Asks where torch is without importing it, which would take seconds. With -c,
# Python would look in the current folder first.
folder="$(python3 -c '
import sys
sys.path = [folder for folder in sys.path if folder.startswith("/")]
import importlib.util
spec = importlib.util.find_spec("torch")
print(spec.submodule_search_locations[0] if spec else "")
' 2>/dev/null)" || folder=""
if [ -n "$folder" ] && is_torch "$folder"; then
  if [ "$(version_of "$folder")" != "$version" ]; then
    echo "feedrate: note: using torch $(version_of "$folder") of python3;" \
      "tested is $version" >&2
  fi
  found "$folder"
fi

echo "feedrate: torch not found. Run: make torch (without a checkout:" \
  "feedrate torch), or set TORCH_ROOT" >&2
exit 1
