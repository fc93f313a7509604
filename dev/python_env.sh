#!/bin/bash
# Prints the path of the Python environment that a lock file describes. Makes it
# first if it is missing.
#
#   env="$(dev/python_env.sh dev/locks/requirements.lock)"
#   "$env/bin/ruff" --version
#
# With --made it makes nothing, and exits with 1 if the environment is missing.
#
# The environment lives in the user's cache under a name that holds the hash of
# the lock file and the Python version, so every checkout with the same lock
# shares it and a changed lock gets a new one. Two callers at once are safe: one
# builds, the other waits. What a killed build leaves behind is built again.
#
# FEEDRATE_PYTHON names another interpreter than the distribution's.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

make_it=1
if [[ "${1:-}" == --made ]]; then
  make_it=""
  shift
fi
[[ $# -eq 1 ]] || die "usage: python_env.sh [--made] LOCKFILE"
lock="$1"
[[ -f "$lock" ]] || die "$lock: no such lock file"

name="$(basename "$lock")"
hash="$(sha256sum <"$lock" | cut -c1-16)"
version="$("$FEEDRATE_PYTHON" -c \
  'import sys; print("py%d.%d" % sys.version_info[:2])')" ||
  die "$FEEDRATE_PYTHON does not run; install python3 or set FEEDRATE_PYTHON"
env="$FEEDRATE_CACHE/venvs/${name%.*}-$hash-$version"

# Written last. Scripts in an environment hold its absolute path, so it cannot
# be built elsewhere and renamed; the mark is what makes it whole or absent.
mark="$env/.complete"

# pip and setuptools, which are copied to each environment: installing them
# takes five seconds of a processor.
pip_home="$FEEDRATE_CACHE/venvs/pip-$version"
make_pip_home() (
  exec 8>"$pip_home.lock"
  flock 8
  if [[ -e "$pip_home/.complete" ]]; then return; fi
  rm -rf "$pip_home"
  "$FEEDRATE_PYTHON" -m venv "$pip_home" && touch "$pip_home/.complete"
)

# Where the packages are that the lock is on top of (dev/lock.py).
packages_below() {
  local below
  below="$(sed -n 's/^# on top of //p' "$lock")"
  [[ -n "$below" ]] || return 0
  echo "$("$0" "$(dirname "$lock")/$below")/lib/python${version#py}/site-packages"
}

build() {
  rm -rf "$env"
  say "making the Python environment of $lock"
  { make_pip_home && "$FEEDRATE_PYTHON" -m venv --without-pip "$env" &&
    cp -a "$pip_home/lib/." "$env/lib/"; } ||
    die "$FEEDRATE_PYTHON -m venv failed; run: make setup"
  # For FFCV, which has no wheels.
  export PKG_CONFIG_PATH="$REPO_ROOT/third_party/ffcv"
  # The lock names every package, so pip has nothing to resolve; `pip check`
  # then holds the lock to that.
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check \
    --no-deps --no-compile --requirement "$lock" ||
    die "$lock: pip could not install it (see above)"
  # What the lock itself names comes before what is below; pip's setuptools not.
  if grep -q '^# on top of ' "$lock"; then
    "$env/bin/python" -m pip uninstall --quiet --yes setuptools
  fi
  PYTHONPATH="$env/lib/python${version#py}/site-packages:$(packages_below)" \
    "$env/bin/python" -m pip check --disable-pip-version-check >&2 ||
    die "$lock: a package lacks what it needs; add it to the lock"
  # What pip leaves out with --no-compile, without the packages' own tests, which
  # are a third of it. Files for other Python versions do not compile.
  "$env/bin/python" -m compileall -qq -x '/tests?/' "$env/lib" || true
  touch "$mark"
}

if [[ ! -e "$mark" ]]; then
  [[ -n "$make_it" ]] || exit 1
  mkdir -p "$(dirname "$env")"
  exec 9>"$env.lock"
  flock 9
  # Another caller may have built it while this one waited.
  if [[ ! -e "$mark" ]]; then build >&2; fi
  flock -u 9
fi
echo "$env"
