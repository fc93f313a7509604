# Sourced by the scripts in dev/: paths, and functions for messages.
# shellcheck shell=bash

REPO_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# What survives a checkout: Python environments, Bazel's disk cache, libtorch.
FEEDRATE_CACHE="${XDG_CACHE_HOME:-${HOME:-}/.cache}/feedrate"
if [[ "${XDG_CACHE_HOME:-${HOME:-}}" != /* ]]; then
  echo "feedrate: there is no folder for environments and caches; set" \
    "XDG_CACHE_HOME to the full path of a folder of yours" >&2
  exit 1
fi
# Programs refuse to run what others can change (lib/base/private_folder.h).
umask go-w
# The distribution's own Python, so that no environment hangs on an interpreter
# of a version manager that may be gone tomorrow.
FEEDRATE_PYTHON="${FEEDRATE_PYTHON:-/usr/bin/python3}"
# The processor that dev/cross.sh builds for: the other of the two.
CROSS_ARCH=x86_64
if [[ "$HOSTTYPE" == x86_64 ]]; then CROSS_ARCH=aarch64; fi
export REPO_ROOT FEEDRATE_CACHE FEEDRATE_PYTHON CROSS_ARCH

say() { echo "feedrate: $*" >&2; }

die() {
  say "$@"
  exit 1
}

# Tracked and new files, never ignored ones. Usage: repo_files '*.cc' '*.h'
repo_files() {
  git -C "$REPO_ROOT" ls-files --cached --others --exclude-standard -- "$@" |
    while IFS= read -r file; do
      if [[ -f "$REPO_ROOT/$file" ]]; then echo "$file"; fi
    done
}
