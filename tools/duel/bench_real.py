#!/usr/bin/env python3
"""Measures how often the gate is wrong, and what it detects, on this machine.

    bazel build //tools/duel/... //tools/compare_baseline
    tools/duel/bench_real.py

Runs 200 duels of A against A and 50 against B made 3% and 5% slower by a busy
loop, for a plain command of about 0.1 s and for a program that prints rows
(--rows names another, such as `micro --config=...`), and prints the table of
docs/duel.md. Exits with 3 when there is more than one false alarm, or when a
slowdown is missed: called the same or faster. "Cannot tell" is not an error;
the table shows it and the floor that the gate stated.

--aa, --slow, --only and --max_pairs make it shorter. Use an idle machine.
"""

import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

DUEL = ROOT / "bazel-bin/tools/duel/duel"
COMPARE = ROOT / "bazel-bin/tools/compare_baseline/compare_baseline"
ROWS = ROOT / "bazel-bin/tools/duel/testing/row_program"
# Adds up numbers for about a tenth of a second and prints nothing.
BUSY = """
volatile double sink;
int main() {
  double sum = 1;
  for (long i = 0; i < %d; ++i) sum += 1 / sum;
  sink = sum;
}
"""


def plain_command(folder):
    """A program that takes about 0.1 s here, compiled for it."""
    rounds = 10_000_000
    for _ in range(2):
        source = folder / "busy.c"
        source.write_text(BUSY % rounds)
        program = folder / "busy"
        subprocess.run(["gcc", "-O1", source, "-o", program], check=True)
        took = bench_common.wall_s([program])
        rounds = int(rounds * 0.1 / took)
    return f"exec {program}"


def verdicts(command, percent, seed, args):
    """Verdicts of one duel of `command` against itself, slowed down."""
    duel = [
        DUEL,
        f"--a={command}",
        f"--b={command}",
        f"--slow_b={percent}",
        f"--seed={seed}",
        f"--max_pairs={args.max_pairs}",
        "--quiet",
    ]
    if args.cpus:
        duel.append(f"--cpus={args.cpus}")
    rows = subprocess.run(duel, stdout=subprocess.PIPE, check=True).stdout
    done = subprocess.run(
        [COMPARE, "--paired"], input=rows, capture_output=True, check=False
    )
    if done.returncode not in (0, 3, 4):
        sys.exit(f"compare_baseline: {done.stderr.decode()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if line["scope"] == "job"]


def measure(name, command, percent, duels, args):
    counts = collections.Counter()
    effects, floors, pairs, jobs = [], [], [], 0
    start = time.perf_counter()
    for i in range(duels):
        for verdict in verdicts(command, percent, args.seed + i, args):
            counts[verdict["verdict"]] += 1
            effects.append(verdict["effect"]["percent"])
            pairs.append(verdict["pairs"])
            if "floor_percent" in verdict:
                floors.append(verdict["floor_percent"])
            jobs += 1
    print(
        f"| {name} | {percent}% | {duels} | {jobs} | {counts['slower']} | "
        f"{counts['faster']} | {counts['same']} | {counts['cannot_tell']} | "
        f"{statistics.median(effects):+.2f}% | "
        f"{statistics.median(floors) if floors else float('nan'):.1f}% | "
        f"{statistics.mean(pairs):.1f} | "
        f"{time.perf_counter() - start:.0f} |",
        flush=True,
    )
    if percent == 0:
        return counts["slower"] + counts["faster"] <= 1
    return counts["same"] + counts["faster"] == 0


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--aa", type=int, default=200)
    parser.add_argument("--slow", type=int, default=50)
    parser.add_argument("--max_pairs", type=int, default=30)
    parser.add_argument("--only", choices=["plain", "rows"])
    parser.add_argument("--rows", default=f"{ROWS} --work_us=2000 --names=one")
    parser.add_argument("--cpus", default="")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors\n")
    print(
        "| command | slowdown | duels | verdicts | slower | faster | same | "
        "cannot tell | seen as | states it sees | pairs | s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    good = True
    with tempfile.TemporaryDirectory() as name:
        commands = {
            "plain": plain_command(pathlib.Path(name)),
            "rows": args.rows,
        }
        for what, command in commands.items():
            if args.only not in (None, what):
                continue
            good &= measure(what, command, 0, args.aa, args)
            good &= measure(what, command, 3, args.slow, args)
            good &= measure(what, command, 5, args.slow, args)
    print("\nkept" if good else "\nBROKEN: wrong more often than promised")
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
