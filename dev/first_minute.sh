#!/bin/bash
# Films a stranger's first minute in text: what one types on a bare Debian with
# nothing but Python, what is printed, and after how many seconds:
#
#   dev/first_minute.sh WHEEL      needs root, for debootstrap
#
# docs/install.md shows what it prints.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"

wheel="${1:?usage: first_minute.sh WHEEL}"
[[ -f "$wheel" ]] || die "$wheel: no such file; make wheel makes one"
[[ "$(id -u)" -eq 0 && -n "$mounts" ]] || die "needs root, and mounts of its own"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
root="$work/debian"
bare_debian "$root" python3-venv
cp "$wheel" "$root/srv/"

# The virtual environment is there before the clock starts.
in_root "$root" python3 -m venv /root/venv
cat >"$root/srv/minute.py" <<'END'
import subprocess
import sys
import time

START = time.monotonic()
for command in sys.argv[1:]:
    print(f"{time.monotonic() - START:5.1f} s  $ {command}", flush=True)
    running = subprocess.Popen(
        command, shell=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    for line in running.stdout:
        print(f"{time.monotonic() - START:5.1f} s  {line}", end="", flush=True)
    if running.wait() != 0:
        sys.exit(f"{command}: exit {running.returncode}")
print(f"{time.monotonic() - START:5.1f} s")
END
in_root "$root" env PATH=/root/venv/bin:/usr/bin:/bin sh -c \
  'cd /root && exec python3 /srv/minute.py "$@"' sh \
  "pip install --no-index --quiet /srv/$(basename "$wheel")" feedrate \
  'feedrate demo'
