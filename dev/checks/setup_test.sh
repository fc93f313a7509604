#!/bin/bash
# dev/setup.sh with fake dpkg, apt-get, id and sudo: it installs only what is
# missing, and says so if it may not.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for name in bash awk dirname env wc sudo; do
  if path="$(command -v "$name")" && [[ "$name" != sudo ]]; then
    ln -s "$path" "$work/bin/$name"
  fi
done

# stub NAME BODY: a command for PATH.
stub() {
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# run GROUP...: setup with the stubs alone in PATH; output in $work/out.
run() {
  status=0
  rm -f "$work/apt"
  PATH="$work/bin" FEEDRATE_PACKAGES="$work/packages.txt" \
    "$REPO_ROOT/dev/setup.sh" "$@" >"$work/out" 2>&1 || status=$?
}

fail() {
  say "setup_test: $*"
  cat "$work/out" >&2
  exit 1
}

cat >"$work/packages.txt" <<'PACKAGES'
# group package version purpose
build  alpha  1.2   here
build  beta   3.0+x here, in another version
build  gamma  7     missing
full   delta  1     missing, but in another group
PACKAGES
stub dpkg-query 'printf "%s\n" "ii  alpha 2:1.2-3+deb12u1" \
  "ii  beta 2.9+x-1" "rc  gamma 7-1"'
stub apt-get 'echo "$@" >>'"$work/apt"

stub id 'echo 0'
run build
[[ "$status" -eq 0 ]] || fail "root: exit $status"
[[ "$(tail -n 1 "$work/apt")" == *" gamma" ]] || fail "did not install gamma"
! grep -q -e alpha -e beta -e delta "$work/apt" || fail "installed too much"

run --versions
[[ "$(cat "$work/out")" == "beta: installed 2.9+x, tested 3.0+x" ]] ||
  fail "versions are wrong"

stub id 'echo 1000'
run build
[[ "$status" -eq 1 ]] || fail "no rights: exit $status"
[[ "$(grep -c 'neither root nor sudo' "$work/out")" -eq 1 ]] ||
  fail "no rights: not said in one line"
grep -q 'apt-get install --no-install-recommends gamma$' "$work/out" ||
  fail "no rights: the remedy is missing"
[[ ! -e "$work/apt" ]] || fail "no rights: ran apt-get"

stub sudo 'echo sudo >>'"$work/apt"'; "$@"'
run build
[[ "$status" -eq 0 ]] || fail "sudo: exit $status"
grep -q sudo "$work/apt" || fail "sudo was not used"

# Nothing missing: no rights, no network, no apt.
stub apt-get 'exit 100'
rm "$work/bin/sudo"
sed -i '/gamma/d' "$work/packages.txt"
run build
[[ "$status" -eq 0 && ! -s "$work/out" ]] || fail "nothing missing, yet busy"
