"""Compares the worker's timings with plain_timing.py.

    <environment>/bin/python compare_plain.py --configs=configs LIBRARY...

For each of the five transforms: one pass of the worker over the images, one
pass of the plain script, alternately, so that slow drift in machine speed
affects both sides equally. Prints the medians and the median ratio with the
range of its middle half. Exit code 3 when a median ratio is off by more than
--allow.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import plain_timing
from library_tests.plain_timing_test import NAMES
from testing import worker
from testing.cells import LAYOUTS, cells_of, inputs_of, photograph

SIZE = (375, 500)  # The most common of ImageNet.


class Plain:
    """plain_timing.py, which makes a pass on request."""

    def __init__(self, library, transform, corpus):
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-B", plain_timing.__file__, "--on_request"),
                f"--library={library}",
                f"--transform={transform}",
                f"--corpus=/proc/{os.getpid()}/fd/{corpus}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **worker.ONE_THREAD},
        )

    def median(self):
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["median_s"]

    def close(self):
        self._process.communicate()


class Worked:
    """A child of the server, as the runner would use it."""

    def __init__(self, server, cell, corpus, count):
        self._child = server.spawn(cell.library, corpus)
        reply = self._child.ask(cell.prepare())
        if "error" in reply:
            sys.exit(f"{cell}: {reply['error']}")
        self._time = {"op": "time", "first": 0, "count": count, "seed": 1}

    def median(self):
        return statistics.median(self._child.ask(self._time)["samples_s"])

    def close(self):
        self._child.close()


def compare(worked, plain, pairs):
    """(worker's median, plain median, ratios) over the pairs."""
    worked.median(), plain.median()  # Both have seen all images once.
    medians = []
    for i in range(pairs):
        order = (worked, plain) if i % 2 == 0 else (plain, worked)
        found = {side: side.median() for side in order}
        medians.append((found[worked], found[plain]))
    sides = [statistics.median(side) for side in zip(*medians, strict=True)]
    return *sides, [ours / theirs for ours, theirs in medians]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--allow", type=float, default=0.1)
    parser.add_argument("libraries", nargs="+")
    flags = parser.parse_args()

    sizes = [SIZE] * flags.count
    plain_corpus = worker.write_corpus(
        [photograph(*size, seed) for seed, size in enumerate(sizes)]
    )
    status = 0
    with worker.Server(flags.libraries, env=worker.ONE_THREAD) as server:
        for library in flags.libraries:
            corpus = worker.write_corpus(
                inputs_of(library, 3, sizes), LAYOUTS.get(library, "HWC")
            )
            cells = cells_of(flags.configs, "image-rgb", library)
            by_name = {cell.transform: cell for cell in cells}
            for transform, name in NAMES.items():
                worked = Worked(server, by_name[name], corpus, flags.count)
                plain = Plain(library, transform, plain_corpus)
                ours, theirs, ratios = compare(worked, plain, flags.pairs)
                low, middle, high = statistics.quantiles(ratios, n=4)
                good = abs(middle - 1) <= flags.allow
                status = status if good else 3
                print(
                    f"{library:16}{transform:10}worker {ours * 1e6:9.1f} us"
                    f"  plain {theirs * 1e6:9.1f} us  ratio {middle:.3f}"
                    f" ({low:.3f} to {high:.3f}){'' if good else '  OFF'}",
                    flush=True,
                )
                worked.close()
                plain.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
