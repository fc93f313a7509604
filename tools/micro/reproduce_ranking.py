#!/usr/bin/env python3
"""Checks whether libraries rank here as in the public benchmark.

    make reproduce-ranking
    tools/micro/reproduce_ranking.py --rows=rows.jsonl   # existing rows

Runs the RGB set (profile `paper`, a few synthetic images), takes for each
transform the ratios of throughput between pairs of libraries, and compares them
with those of the published medians (configs/published/throughput.csv, rows of
c4-standard-16). Ratios, not speeds, because the machines differ. Prints
Spearman's rank correlation over all pairs, the share of pairs with the same
winner, and the pairs that are furthest off, which need an explanation
(docs/micro.md has the known ones). Exit 3 if the correlation is below --bar.
"""

import argparse
import collections
import csv
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = "configs/paper/gcp_c4_rgb_micro_cpu.textproto"
PUBLISHED = ROOT / "configs/published/throughput.csv"
MACHINE = "c4-standard-16"
SCENARIO = "image-rgb"


def published():
    """Items per second by (transform, library)."""
    with PUBLISHED.open() as file:
        return {
            (row["transform"], row["library"]): float(row["items_per_s"])
            for row in csv.DictReader(file)
            if row["scenario"] == SCENARIO
            and row["mode"] == "micro"
            and row["machine"] == MACHINE
            and row["items_per_s"]
        }


def measure(flags, path):
    subprocess.run(
        [
            ROOT / "bazel-bin/tools/micro/micro",
            f"--config={CONFIG}",
            "--dataset=synthetic:rgb",
            f"--num_items={flags.items}",
            f"--num_runs={flags.runs}",
            "--noequivalence",
            f"--output={path}",
        ],
        cwd=ROOT,
        check=True,
    )


def measured(path):
    """Median items per second of last attempts, by (transform, library)."""
    last = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["record"] == "row" and row["throughput"] > 0:
            last[row["job_id"], row["run_index"]] = row
    values = collections.defaultdict(list)
    for row in last.values():
        values[row["transform"], row["library"]].append(row["throughput"])
    return {cell: statistics.median(v) for cell, v in values.items()}


def log_ratios(speeds):
    """log(a / b) for each transform and pair of libraries."""
    by_transform = collections.defaultdict(dict)
    for (transform, library), speed in speeds.items():
        by_transform[transform][library] = speed
    return {
        (transform, a, b): math.log(libraries[a] / libraries[b])
        for transform, libraries in by_transform.items()
        for a, b in itertools.combinations(sorted(libraries), 2)
    }


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    for _, group in itertools.groupby(
        enumerate(order), key=lambda entry: values[entry[1]]
    ):
        members = list(group)
        mean = statistics.fmean(place for place, _ in members) + 1
        for _, index in members:
            result[index] = mean
    return result


def spearman(xs, ys):
    return statistics.correlation(ranks(xs), ranks(ys))


def report(here, there, flags):
    """Prints the comparison; returns the correlation."""
    ours, theirs = log_ratios(here), log_ratios(there)
    pairs = sorted(ours.keys() & theirs.keys())
    if len(pairs) < 3:
        sys.exit("reproduce_ranking: nothing to compare")
    xs = [ours[pair] for pair in pairs]
    ys = [theirs[pair] for pair in pairs]
    correlation = spearman(xs, ys)
    same = sum(x * y > 0 for x, y in zip(xs, ys, strict=True))
    print(f"{len(pairs)} ratios between libraries, of {MACHINE} and of here")
    print(f"rank correlation {correlation:.3f}; bar {flags.bar}")
    print(f"same winner in {same} of {len(pairs)}")
    print(
        f"\nfurthest off, of ratios a/b:\n{'':44}{'published':>10}{'here':>10}"
    )
    off = sorted(pairs, key=lambda p: -abs(ours[p] - theirs[p]))
    for pair in off[: flags.outliers]:
        transform, a, b = pair
        name = f"{transform} {a}/{b}"
        print(
            f"{name:44}{math.exp(theirs[pair]):10.2f}{math.exp(ours[pair]):10.2f}"
        )
    return correlation


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rows", type=pathlib.Path, help="instead of measuring"
    )
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--bar", type=float, default=0.9)
    parser.add_argument("--outliers", type=int, default=15)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = flags.rows or pathlib.Path(folder) / "rows.jsonl"
        if not flags.rows:
            measure(flags, path)
        correlation = report(measured(path), published(), flags)
    sys.exit(0 if correlation >= flags.bar else 3)


if __name__ == "__main__":
    main()
