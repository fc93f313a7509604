#!/bin/bash
# dev/python_env.sh makes one environment per lock file: once, even if several
# callers ask at the same time, and again after a build that was killed.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
env_of() { "$REPO_ROOT/dev/python_env.sh" "$@" 2>>"$work/log"; }

fail() {
  say "python_env_test: $*"
  cat "$work/log" >&2
  exit 1
}

# Without a home there is no environment, least of all in the current folder.
(
  mkdir -p "$work/here/.cache/feedrate/venvs"
  cd "$work/here"
  for home in "" here; do
    if HOME="$home" XDG_CACHE_HOME="" env_of --made "$work/none.lock"; then
      fail "HOME='$home' was good enough"
    fi
  done
) || exit 1
grep -q 'set XDG_CACHE_HOME to the full path' "$work/log" ||
  fail "the remedy is not named"
: >"$work/log"

# An empty lock needs no network.
echo "# nothing" >"$work/empty.lock"
for i in 1 2 3; do (umask 002 && env_of "$work/empty.lock" >"$work/path$i") & done
wait
[[ "$(sort -u "$work"/path? | wc -l)" -eq 1 ]] || fail "several environments"
[[ "$(grep -c 'making the Python' "$work/log")" -eq 1 ]] || fail "built twice"
env="$(cat "$work/path1")"
[[ "$env" == "$work/cache/feedrate/venvs/empty-"* ]] || fail "not in the cache"
[[ -z "$(find "$work/cache" -type d -perm /022)" ]] || fail "others can write"
"$env/bin/python" -c 'import sys; assert sys.prefix != sys.base_prefix' ||
  fail "no environment at $env"
"$env/bin/python" -m pip --version | grep -q " from $env/lib/" ||
  fail "no pip of its own"

# Looking makes nothing.
echo "# looked at" >"$work/looked_at.lock"
if env_of --made "$work/looked_at.lock" >"$work/path"; then fail "is not made"; fi
[[ ! -s "$work/path" ]] || fail "a path that is not there"
[[ "$(env_of --made "$work/empty.lock")" == "$env" ]] || fail "is made"

# Half an environment is not an environment.
rm "$env/.complete" "$env/bin/python"
[[ "$(env_of "$work/empty.lock")" == "$env" ]] || fail "another path"
[[ -x "$env/bin/python" ]] || fail "what a killed build left was not repaired"

# Another lock, another environment; a lock that pip refuses leaves none.
echo "# other" >"$work/other.lock"
[[ "$(env_of "$work/other.lock")" != "$env" ]] || fail "locks share a folder"
echo "not a requirement ==" >"$work/bad.lock"
if env_of "$work/bad.lock" >/dev/null; then fail "accepted a bad lock"; fi
if compgen -G "$work/cache/feedrate/venvs/bad-*/.complete" >/dev/null; then
  fail "a failed build is marked complete"
fi
