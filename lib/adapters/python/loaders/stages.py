"""How long workers are busy with each stage, summed in shared memory.

One row for each worker, written by that worker alone: no lock, and some 2 us a
stage and item.
"""

import contextlib
import mmap
import time

import numpy as np

NAMES = ("read", "decode", "augment", "collate", "copy")


class Stages:
    def __init__(self, rows):
        rows = max(rows, 1)
        # Anonymous and shared: forked workers write where we read.
        self._map = mmap.mmap(-1, rows * len(NAMES) * 8)
        self._busy = np.frombuffer(self._map).reshape(rows, len(NAMES))
        self._row = self._busy[0]

    def use_row(self, row):
        """To be called by a worker before it works."""
        self._row = self._busy[row]

    @contextlib.contextmanager
    def busy(self, name):
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._row[NAMES.index(name)] += time.perf_counter() - begin

    def clear(self):
        self._busy[:] = 0

    def report(self):
        """What the reply says; a stage that did nothing is left out."""
        sums = self._busy.sum(axis=0).tolist()
        return [
            {"name": name, "busy_s": busy}
            for name, busy in zip(NAMES, sums, strict=True)
            if busy > 0
        ]
