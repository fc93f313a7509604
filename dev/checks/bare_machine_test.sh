#!/bin/bash
# Does what README.md tells a newcomer to do, on a bare Debian made by debootstrap
# with git and make, and nothing of this machine: clones HEAD, `make demo`, then
# `make test`. Fails on anything but "N passed, 0 failed". Needs root, a network and
# half an hour.
#
#   dev/checks/bare_machine_test.sh            says whether the files that decide how
#                                              a machine is set up are those of the
#                                              last run that passed
#   dev/checks/bare_machine_test.sh --full     runs it
#
# A run that passes writes the checksum of those files into dev/bare_machine.passed:
# commit it.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"
cd "$REPO_ROOT"

# What decides how a machine is set up and what it builds with.
watched=(.bazelrc MODULE.bazel Makefile README.md WORKSPACE dev/bazel.sh
  dev/common.sh dev/demo.sh dev/envs.sh dev/locks dev/packages.txt
  dev/python_env.sh dev/setup.sh dev/test.sh dev/torch.sh third_party)
stamp=dev/bare_machine.passed
sum="$(git ls-files -s -- "${watched[@]}" | sha256sum | cut -d ' ' -f 1)"

if [[ -n "${FEEDRATE_BARE_MACHINE:-}" ]]; then
  echo "this is the bare machine"
  exit 77
fi
if [[ "${1:-}" != --full ]]; then
  if [[ "$(cat "$stamp")" == "$sum" ]]; then
    say "passed before with these files ($stamp)"
    exit 0
  fi
  echo "not yet passed with these files: dev/checks/bare_machine_test.sh --full"
  exit 77
fi
if [[ "$(id -u)" -ne 0 || -z "$mounts" ]]; then
  echo "needs root and mounts of its own, to start a bare Debian"
  exit 77
fi

work="$(mktemp -d)"
trap 'rm -rf --one-file-system "$work"' EXIT
say "a bare Debian, make demo and make test: half an hour; log in $work"
bare_debian "$work/debian" ca-certificates,git,make
reach_as_here "$work/debian"
git clone --quiet . "$work/debian/srv/feedrate"

# newcomer TARGET: as typed there.
newcomer() {
  in_root "$work/debian" FEEDRATE_BARE_MACHINE=1 \
    make --no-print-directory -C /srv/feedrate "$1" >"$work/$1.log" 2>&1
}
newcomer demo || die "make demo failed: $(tail -n 20 "$work/demo.log")"
newcomer test || true
in_root "$work/debian" sh -c \
  'cd /srv/feedrate && bazel shutdown' >"$work/shutdown.log" 2>&1 || true
last="$(tail -n 1 "$work/test.log")"
if [[ ! "$last" =~ ^[0-9]+\ passed,\ 0\ failed$ ]]; then
  grep -E '^(FAILED|FAIL|ERROR|SKIPPED)' "$work/test.log" || true
  tail -n 60 "$work/test.log"
  die "make test on a bare Debian: $last"
fi
say "make demo, then make test on a bare Debian: $last"
grep '^SKIPPED' "$work/test.log" || true
echo "$sum" >"$stamp"
