"""How long workers are busy with each stage, summed in shared memory.

One row for each worker, written by that worker alone: no lock, and some 2 us a
stage and item.
"""

import contextlib
import mmap
import time

import numpy as np

NAMES = ("read", "decode", "augment", "collate", "copy")
# After the stages: between two batches of a worker.
_IDLE = len(NAMES)
_COLUMNS = len(NAMES) + 1


class Stages:
    def __init__(self, rows):
        rows = max(rows, 1)
        # Anonymous and shared: forked workers write where we read.
        self._map = mmap.mmap(-1, rows * _COLUMNS * 8)
        self._busy = np.frombuffer(self._map).reshape(rows, _COLUMNS)
        self._row = self._busy[0]
        self._handed_over = None

    def use_row(self, row):
        """To be called by a worker before it works."""
        self._row = self._busy[row]

    def resume(self):
        """To be called when a worker begins with an item."""
        if self._handed_over is not None:
            idle = time.perf_counter() - self._handed_over
            self._row[_IDLE] += idle
            self._handed_over = None

    def hand_over(self):
        """To be called when a worker has made a batch."""
        self._handed_over = time.perf_counter()

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
        """What the reply says; a stage that did nothing is left out, and what
        is not known is 0."""
        *sums, idle = self._busy.sum(axis=0).tolist()
        return [
            {
                "name": name,
                "busy_s": busy,
                "wait_in_s": 0,
                "wait_out_s": idle if name == "collate" else 0,
                "queue_fill": 0,
            }
            for name, busy in zip(NAMES, sums, strict=True)
            if busy > 0
        ]
