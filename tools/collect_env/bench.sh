#!/bin/bash
# Measures how long collect_env takes from start to end, compared with /bin/true
# and an empty Python program: the median of 20 starts each, which alternate.
#
#   bazel build //tools/collect_env && tools/collect_env/bench.sh
set -euo pipefail

tool="${1:-bazel-bin/tools/collect_env/collect_env}"
[[ -x "$tool" ]] || {
  echo "bench.sh: $tool does not exist; run: bazel build //tools/collect_env" >&2
  exit 1
}

exec python3 - "$tool" <<'PY'
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "/bin/true": ["/bin/true"],
    "collect_env": [sys.argv[1]],
    "collect_env --print=profile": [sys.argv[1], "--print=profile"],
    "python3 -c pass": [sys.executable, "-c", "pass"],
}
ROUNDS = 20

times_ms = {name: [] for name in COMMANDS}
for round_index in range(ROUNDS + 1):
    for name, command in COMMANDS.items():
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        if round_index > 0:  # The first fills the page cache.
            times_ms[name].append(1e3 * (time.perf_counter() - start))
for name, values in times_ms.items():
    print(f"{name:28} {statistics.median(values):6.1f} ms")
PY
