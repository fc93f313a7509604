#!/usr/bin/env python3
"""How long `aggregate` takes to read 200,000 entries of google/benchmark.

    bazel build //tools/aggregate && lib/imports/bench.py [--repeats=N]

Writes a file of benchmarks with five repetitions each, and one of benchmarks
that all differ, and puts all entries into one group. Prints wall and CPU
seconds of the whole program, from start to exit, and of Python's `json.loads`
on the same file: the smallest of several runs, because others on the machine
only add to them.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGGREGATE = ROOT / "bazel-bin/tools/aggregate/aggregate"


def entry(benchmark, repetition):
    return {
        "name": f"BM_sort<int>/n:{benchmark}",
        "family_index": 0,
        "per_family_instance_index": benchmark,
        "run_name": f"BM_sort<int>/n:{benchmark}",
        "run_type": "iteration",
        "repetitions": 5,
        "repetition_index": repetition,
        "threads": 1,
        "iterations": 21921,
        "real_time": 1106.340723572353 + benchmark % 97 + repetition,
        "cpu_time": 332.00875872451076,
        "time_unit": "ns",
        "items_per_second": 192765998.84253344,
    }


def write(path, entries, repetitions):
    items = [entry(i // repetitions, i % repetitions) for i in range(entries)]
    context = {"executable": "./bench", "num_cpus": 2, "caches": []}
    results = {"context": context, "benchmarks": items}
    path.write_text(json.dumps(results, indent=2))


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def seconds(command):
    """Wall and CPU seconds of a command."""
    before = cpu_seconds(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    return wall, cpu_seconds(resource.RUSAGE_CHILDREN) - before


def loads_seconds(path):
    text = path.read_text()
    before = cpu_seconds(resource.RUSAGE_SELF)
    json.loads(text)
    return cpu_seconds(resource.RUSAGE_SELF) - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        for repetitions in (5, 1):
            write(path, flags.entries, repetitions)
            command = [AGGREGATE, "--by=transform", "--mix=settings", path]
            timings = [seconds(command) for _ in range(flags.repeats)]
            loads = min(loads_seconds(path) for _ in range(flags.repeats))
            print(
                f"{flags.entries} entries, {repetitions} per benchmark, "
                f"{path.stat().st_size / 1e6:.0f} MB: "
                f"{min(t[0] for t in timings):.2f} s wall, "
                f"{min(t[1] for t in timings):.2f} s CPU; "
                f"json.loads {loads:.2f} s CPU"
            )


if __name__ == "__main__":
    main()
