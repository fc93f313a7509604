#!/usr/bin/env python3
"""Measures how often the gate is wrong, and what it detects, on this machine.

    bazel build //tools/duel/... //tools/compare_baseline
    tools/duel/bench_real.py

Runs 200 duels of A against A and 50 against B made 3% and 5% slower by a busy
loop, for a plain command of about 0.1 s and for a program that prints rows
(--rows names another, such as `micro --config=...`), and prints the table of
docs/duel.md. Exits with 3 when there is more than one false alarm about time,
any about memory or CPU seconds, or when a slowdown is missed: called the same
or faster. "Cannot tell" is not an error; the table shows it and the floor that
the gate stated.

--aa, --slow, --only and --max_pairs make it shorter. --only=programs duels
gzip, sort and Python against themselves. --load=N runs N busy processes next to
the duels. Use an idle machine.
"""

import collections
import json
import os
import pathlib
import random
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


def programs(folder):
    """Commands that read files, allocate memory and start other processes."""
    data = folder / "data"
    data.write_bytes(random.Random(1).randbytes(300_000).hex().encode())
    return {
        "gzip": f"gzip -c {data}",
        "sort": f"fold -w 40 {data} | sort | uniq -c",
        "python": "python3 -S -c 'x = [str(i) for i in range(200000)]'",
    }


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


def metric_counts(counts, metric):
    words = ("worse", "better", "same", "cannot_tell")
    return " ".join(str(counts[f"{metric} {word}"]) for word in words)


def measure(name, command, percent, duels, args):
    counts = collections.Counter()
    effects, floors, pairs, jobs = [], [], [], 0
    start = time.perf_counter()
    for i in range(duels):
        for verdict in verdicts(command, percent, args.seed + i, args):
            codes = set(verdict["codes"])
            names = {one["metric"] for one in verdict.get("metrics", [])}
            # Slower because of another metric, which is counted below.
            only_metric = codes & names and "time" not in codes
            counts["other metric" if only_metric else verdict["verdict"]] += 1
            for metric in verdict.get("metrics", []):
                counts[f"{metric['metric']} {metric['verdict']}"] += 1
                if metric["verdict"] in ("worse", "better"):
                    counts["moved"] += percent == 0
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
        f"{metric_counts(counts, 'memory')} | {metric_counts(counts, 'cpu')} | "
        f"{time.perf_counter() - start:.0f} |",
        flush=True,
    )
    if percent == 0:
        return counts["slower"] + counts["faster"] <= 1 and not counts["moved"]
    return counts["same"] + counts["faster"] == 0


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--aa", type=int, default=200)
    parser.add_argument("--slow", type=int, default=50)
    parser.add_argument("--max_pairs", type=int, default=30)
    parser.add_argument("--only", choices=["plain", "rows", "programs"])
    parser.add_argument("--rows", default=f"{ROWS} --work_us=2000 --names=one")
    parser.add_argument("--cpus", default="")
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors\n")
    print(
        "| command | slowdown | duels | verdicts | slower | faster | same | "
        "cannot tell | measured as | smallest detectable change | pairs | "
        "memory | cpu | s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    good = True
    with tempfile.TemporaryDirectory() as name:
        commands = {
            "plain": plain_command(pathlib.Path(name)),
            "rows": args.rows,
        }
        if args.only == "programs":
            commands = programs(pathlib.Path(name))
        elif args.only:
            commands = {args.only: commands[args.only]}
        load = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(args.load)
        ]
        for what, command in commands.items():
            for percent, duels in (
                (0, args.aa),
                (3, args.slow),
                (5, args.slow),
            ):
                if duels > 0:
                    good &= measure(what, command, percent, duels, args)
        for process in load:
            process.kill()
            process.wait()
    print("\nkept" if good else "\nBROKEN: wrong more often than promised")
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
