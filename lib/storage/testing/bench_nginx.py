"""Compares how fast the store streams with curl's own parallel mode.

Both read the same object from the same nginx in ranges of the same size over
the same number of connections, in pairs of random order. curl gets one range
per transfer and throws the bytes away, as the store does once they are in
memory. Prints the median of the pairs' ratios of speed (ours over curl's) with
its 95% interval from the order statistics, and exits with 3 if the lower end is
below --at_least.
"""

import argparse
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from servers import STORE_CAT, nginx


def curl_config(url, size, step):
    """A file for curl --config: one transfer per range."""
    lines = []
    for first in range(0, size, step):
        last = min(first + step, size) - 1
        lines += ["next"] if lines else []
        lines += [
            f'url = "{url}"',
            f'range = "{first}-{last}"',
            'output = "/dev/null"',
            "fail",
            "silent",
            "show-error",
        ]
    return "\n".join(lines) + "\n"


def seconds_of(command):
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def median_interval(values):
    """A confidence interval of at least 95% for the median, by rank."""
    values, n = sorted(values), len(values)
    outside, rank = 0.0, 0
    while rank < n // 2:
        outside += math.comb(n, rank) / 2**n
        if outside > 0.025:
            break
        rank += 1
    if rank == 0:
        return values[0], values[-1]
    return values[rank - 1], values[n - rank]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--range_bytes", type=int, default=8 << 20)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--at_least", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    order = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "root").mkdir()
        with open(work / "root/big.bin", "wb") as file:
            block = order.randbytes(1 << 20)
            for start in range(0, arguments.bytes, len(block)):
                file.write(block[: arguments.bytes - start])
        with nginx(work / "root", work, logged=False) as (url, _):
            url += "/big.bin"
            config = work / "curl.config"
            config.write_text(
                curl_config(url, arguments.bytes, arguments.range_bytes)
            )
            ours = [
                str(STORE_CAT),
                "--stream",
                f"--connections={arguments.connections}",
                f"--range_bytes={arguments.range_bytes}",
                url,
            ]
            curl = ["curl", "--parallel", "--parallel-immediate"]
            curl += ["--parallel-max", str(arguments.connections)]
            curl += ["--no-progress-meter", "--config", str(config)]
            ratios = run_pairs(ours, curl, arguments, order)
    low, high = median_interval(ratios)
    print(
        f"ours/curl {statistics.median(ratios):.3f} "
        f"[{low:.3f}, {high:.3f}] over {len(ratios)} pairs"
    )
    return 0 if low >= arguments.at_least else 3


def run_pairs(ours, curl, arguments, order):
    for command in (ours, curl):  # The file is in the page cache from now on.
        seconds_of(command)
    ratios = []
    for pair in range(arguments.pairs):
        taken = {}
        for name in order.sample(["ours", "curl"], 2):
            taken[name] = seconds_of(ours if name == "ours" else curl)
        ratios.append(taken["curl"] / taken["ours"])
        gb = arguments.bytes / 1e9
        print(
            f"pair {pair + 1}: ours {gb / taken['ours']:.2f} GB/s, "
            f"curl {gb / taken['curl']:.2f} GB/s",
            flush=True,
        )
    return ratios


if __name__ == "__main__":
    sys.exit(main())
