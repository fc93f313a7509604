#!/usr/bin/env python3
"""Measures how often a stored baseline gives a false alarm, and what it finds.

    bazel build //tools/micro //tools/compare_baseline //lib/adapters/opencv/...
    tools/compare_baseline/bench_noise.py

Runs a suite of 50 small jobs of `micro` again and again and compares each
repeat with one stored baseline: half of --repeats on the machine as it is
("quiet"), half next to a load generator, and --slow more that a busy loop
makes 10% slower. Prints the table of docs/compare_baseline.md. Exits with 3
if more than 1 in 100 unchanged suites has a job called slower, or if less than
95% of the slowed jobs that were measured quietly are found.

A suite in which the runner itself marked more than --most_disturbed of the
runs was not quiet, whatever was intended; it counts as loaded. With --keep,
rows are kept in a folder and not measured again, so a bench that was stopped
goes on where it was. Prints a line per suite on standard error.

--chains=N runs N suites at a time on a machine with many processors, each chain
on its own processors and against its own baseline: first the quiet ones, then
those with load. More than a quarter of the processors would not be quiet.

--simulate draws the times of the runs instead of measuring them, so it takes
seconds: each job has its own noise, between 0.5% and 2% per run, and its own
drift of 0.5% between the suites. A loaded machine has five times that, and its
runs are heavy-tailed; none of them is marked.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DISTURBED = {"noisy", "contended", "throttled"}
CONFIG = """version: 1
selection {
  scenario: "image-rgb"
  mode: "micro"
  libraries: [ "opencv" ]
  transforms: [ "HorizontalFlip", "VerticalFlip", "Brightness", "Invert",
    "Solarize", "Posterize", "Grayscale", "RGBShift", "RandomGamma", "Pad" ]
}
execution { device: "cpu" }
"""
# Busy for a while, idle for a while: some runs are hit, some are not, and some
# are hit in part. Every other burst fills the memory bus instead.
LOAD = """
import random, sys, time
source = random.Random(int(sys.argv[1]))
block = bytearray(32 << 20)
while True:
    end = time.monotonic() + source.expovariate(5)
    copies = source.random() < 0.5
    while time.monotonic() < end:
        if copies:
            block[:] = bytes(block)
    time.sleep(source.expovariate(5))
"""


class Load:
    """Busy processes, one more than there are processors for this thread."""

    def __enter__(self):
        self.processes = [
            subprocess.Popen([sys.executable, "-c", LOAD, str(i)])
            for i in range(1 + len(os.sched_getaffinity(0)))
        ]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def simulate(path, args, slowdown, loaded):
    """Writes rows with drawn throughputs."""
    jobs = random.Random(args.seed)
    source = random.Random(f"{path.name} {args.seed}")
    lines = []
    for job in range(args.jobs):
        level = math.exp(jobs.uniform(3, 9))
        noise = jobs.uniform(0.005, 0.02) * (5 if loaded else 1)
        drift = source.gauss(0, 0.025 if loaded else 0.005)
        for run in range(args.runs):
            shock = source.gauss(0, 1)
            if loaded:  # Student's t with 3 degrees of freedom.
                shock /= math.sqrt(source.gammavariate(1.5, 2) / 3)
            time_factor = math.exp(drift + noise * shock)
            row = {
                "schema": 1,
                "record": "row",
                "job_id": f"{job:016}",
                "library": "simulated",
                "transform": f"T{job}",
                "run_id": path.stem,
                "run_index": run,
                "status": "ok",
                "throughput": level / time_factor / (1 + slowdown / 100),
                "warnings": [],
                "machine_profile": "simulated",
            }
            lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines))


def measure(path, args, slowdown=0, loaded=False):
    """Runs the suite once and writes its rows, unless they are there."""
    if path.exists():
        return
    if args.simulate:
        simulate(path, args, slowdown, loaded)
        return
    environment = dict(os.environ)
    if slowdown:
        environment["FEEDRATE_SLOWDOWN_PERCENT"] = str(slowdown)
    unfinished = path.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    config = path.parent / "suite.textproto"
    config.write_text(CONFIG)
    items = [str(args.items + i) for i in range(args.jobs // 10)]
    command = [
        args.micro,
        f"--config={config}",
        f"--num_runs={args.runs}",
        f"--min_time={args.min_time}",
        f"--stable_within={args.stable_within}",
        f"--sweep=num_items={','.join(items)}",
        f"--output={unfinished}",
    ]
    if args.quiet_wait is not None:
        command.append(f"--quiet_wait={args.quiet_wait:g}")
    done = subprocess.run(
        command, env=environment, capture_output=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"micro: {done.stderr.decode()}")
    unfinished.rename(path)


def disturbed_share(path):
    """Share of the runs whose cleanest attempt was still disturbed."""
    runs = collections.defaultdict(lambda: True)
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["record"] == "row" and row["library"] != "null":
            key = row["job_id"], row["run_index"]
            runs[key] &= bool(DISTURBED & set(row["warnings"]))
    return sum(runs.values()) / len(runs)


def judge(path, baselines, args):
    """Verdicts on the jobs of one suite."""
    done = subprocess.run(
        [
            args.compare,
            f"--current={path}",
            f"--baselines={baselines}",
            "--format=jsonl",
        ],
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 3, 4):
        sys.exit(f"compare_baseline: {done.stderr.decode()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if line["scope"] == "job"]


def store_baseline(folder, args):
    """Measures the suite several times: what differs between two executions
    of `micro` is in the baseline too."""
    paths = [folder / f"baseline_{i}.jsonl" for i in range(args.executions)]
    for path in paths:
        measure(path, args)
    rows = folder / "baseline.jsonl"
    rows.write_text("".join(path.read_text() for path in paths))
    subprocess.run(
        [
            args.compare,
            "--update-baseline",
            "--i-am-a-maintainer=bench_noise",
            f"--current={rows}",
            f"--baselines={folder / 'baselines'}",
        ],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return folder / "baselines"


def repeats_of(args):
    """(name, loaded, slowdown) of all suites, in a random order, so that drift
    in machine speed affects all kinds equally."""
    half = args.repeats // 2
    kinds = (
        [("quiet", False, 0)] * (args.repeats - half)
        + [("loaded", True, 0)] * half
        + [("slow", False, args.slowdown)] * args.slow
    )
    random.Random(args.seed).shuffle(kinds)
    return [(f"{kind[0]}_{i:03}", *kind[1:]) for i, kind in enumerate(kinds)]


def processors_of(chain, chains):
    """The chain's part of this process's processors."""
    usable = sorted(os.sched_getaffinity(0))
    part = len(usable) // chains
    return usable[chain * part : (chain + 1) * part]


def run_chains(folder, args):
    """As run, with the suites of all chains."""
    repeats = repeats_of(args)
    if args.chains == 1:
        return run(folder, args, repeats)
    suites = collections.defaultdict(list)
    for loaded in (False, True):
        mine = [repeat for repeat in repeats if repeat[1] == loaded]

        def run_chain(chain, mine=mine):
            # This thread's alone; its processes inherit it.
            os.sched_setaffinity(0, processors_of(chain, args.chains))
            own = folder / f"chain_{chain}"
            own.mkdir(exist_ok=True)
            return run(own, args, mine[chain :: args.chains])

        with concurrent.futures.ThreadPoolExecutor(args.chains) as pool:
            for part in pool.map(run_chain, range(args.chains)):
                for kind, verdicts in part.items():
                    suites[kind] += verdicts
    return suites


def run(folder, args, repeats):
    """{(loaded, slowdown): list of verdict lists}."""
    baselines = store_baseline(folder, args)
    suites = collections.defaultdict(list)
    for i, (name, loaded, slowdown) in enumerate(repeats):
        path = folder / f"{name}.jsonl"
        busy = loaded and not args.simulate and not path.exists()
        start = time.perf_counter()
        with Load() if busy else contextlib.nullcontext():
            measure(path, args, slowdown, loaded)
        seconds = time.perf_counter() - start
        share = disturbed_share(path)
        verdicts = judge(path, baselines, args)
        suites[loaded or share > args.most_disturbed, slowdown].append(verdicts)
        if not args.simulate:
            counts = collections.Counter(v["verdict"] for v in verdicts)
            print(
                f"{i + 1}/{len(repeats)} {name}: {seconds:.1f} s,"
                f" {share:.0%} disturbed, {dict(counts)}",
                file=sys.stderr,
                flush=True,
            )
    return suites


def report(suites):
    """Prints the table; returns whether both promises are kept."""
    print(
        "| machine | slowdown | suites | jobs | slower | same | cannot tell |"
        " suites with a slower job |\n|---|---|---|---|---|---|---|---|"
    )
    unchanged = alarms = jobs = found = 0
    for (loaded, slowdown), verdicts in sorted(suites.items()):
        counts = collections.Counter(
            verdict["verdict"] for suite in verdicts for verdict in suite
        )
        slower = sum(
            any(verdict["verdict"] == "slower" for verdict in suite)
            for suite in verdicts
        )
        if not slowdown:
            unchanged += len(verdicts)
            alarms += slower
        elif not loaded:
            jobs += counts.total()
            found += counts["slower"]
        print(
            f"| {'loaded' if loaded else 'quiet'} | {slowdown:g}% |"
            f" {len(verdicts)} | {counts.total()} | {counts['slower']} |"
            f" {counts['same']} | {counts['cannot_tell']} | {slower} |"
        )
    print(f"\n{alarms} of {unchanged} unchanged suites had a false alarm.")
    if jobs:
        print(f"{100 * found / jobs:.1f}% of the slowed jobs were found.")
    else:
        print("No slowed suite was measured quietly.")
    return 100 * alarms <= unchanged and found >= 0.95 * jobs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--slow", type=int, default=50)
    parser.add_argument("--slowdown", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=50, help="tens")
    parser.add_argument(
        "--items", type=int, default=50, help="per run, or more"
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--executions", type=int, default=7, help="of the baseline"
    )
    parser.add_argument(
        "--min_time", type=float, default=0.01, help="seconds per run, or more"
    )
    parser.add_argument("--stable_within", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most_disturbed", type=float, default=0.1)
    parser.add_argument("--quiet_wait", type=float)
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--micro", default=ROOT / "bazel-bin/tools/micro/micro")
    parser.add_argument(
        "--compare",
        default=ROOT / "bazel-bin/tools/compare_baseline/compare_baseline",
    )
    args = parser.parse_args()
    start = time.perf_counter()
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        good = report(run_chains(args.keep, args))
    else:
        with tempfile.TemporaryDirectory() as name:
            good = report(run_chains(pathlib.Path(name), args))
    print(f"{time.perf_counter() - start:.0f} s, {os.cpu_count()} processors")
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
