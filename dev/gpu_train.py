#!/usr/bin/env python3
"""The parts of gpu_train.sh in Python.

gpu_train.py kernels CSV               the time of each kernel that ncu saw
gpu_train.py parallel ONE FIRST SECOND answers of one process and of two
"""

import collections
import csv
import json
import pathlib
import sys


def kernel_table(path):
    """Prints the time of each kernel in a CSV of ncu."""
    total, calls = collections.Counter(), collections.Counter()
    micro = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1}
    micro |= {"ms": 1e3, "msecond": 1e3}
    lines = [n for n in path.read_text().splitlines() if n.startswith('"')]
    for row in csv.DictReader(lines):
        value = float(row["Metric Value"].replace(",", ""))
        name = row["Kernel Name"][:70]
        total[name] += value * micro[row["Metric Unit"]]
        calls[name] += 1
    print(f"kernels: {sum(total.values()) / 1e3:.2f} ms")
    for name, us in total.most_common(30):
        per_call = us / calls[name]
        print(f"{us:9.0f} us {calls[name]:4d} x {per_call:7.1f}  {name}")


def check_parallel(paths):
    """Holds the losses of two processes against those of one; exits 1 if not.

    Sums are made in another order, so the losses differ by rounding.
    """
    one, *parts = [
        json.loads(path.read_text().splitlines()[-1]) for path in paths
    ]
    failed = [r.get("error") for r in (one, *parts) if r["event"] != "result"]
    if failed:
        sys.exit(f"a process failed: {failed}")
    gaps = [
        max(
            abs(a - b) / a
            for a, b in zip(one["losses"], part["losses"], strict=True)
        )
        for part in parts
    ]
    print(
        f"{one['engine']}: losses of two processes differ from those of one by"
        f" {max(gaps):.3%} at most; the last is {one['losses'][-1]:.4f}"
    )
    if max(gaps) > 0.005 or parts[0]["losses"] != parts[1]["losses"]:
        sys.exit("the processes did not train together")


def main():
    command, *paths = sys.argv[1:]
    paths = [pathlib.Path(path) for path in paths]
    if command == "kernels":
        kernel_table(*paths)
    else:
        check_parallel(paths)


if __name__ == "__main__":
    main()
