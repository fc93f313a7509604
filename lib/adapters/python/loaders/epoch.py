"""Times one epoch of a loader, and the stages of its workers; knows neither
torch nor processes.

A loader has
  forks                          whether it makes worker processes
  set_epoch(seed, first, count, epoch=0)
                                 untimed: what the loader object itself costs;
                                 only audits have an epoch
  start()                        an iterator of Batch
  stop()                         returns when no worker is left; may be called
                                 at any moment, and twice
  cpu_s()                        processor time of this process and its workers
  stages()                       as the reply has them
  outputs(indexes, seed)         the tensors of single items
and, if an epoch can be continued in another process,
  state()                        text, after a batch and before stop()
  resume(state)                  between set_epoch() and start()
"""

import contextlib
import dataclasses
import mmap
import time

import item_ids
import numpy as np

# kMaxNamedErrors of lib/worker/message.h.
_NAMED_ERRORS = 1000
STAGES = ("read", "decode", "augment", "collate", "copy")
# After the stages: between two batches of a worker.
_IDLE = len(STAGES)
# Waits of the main process for a device.
_SYNC = _IDLE + 1
_COLUMNS = _SYNC + 1


@dataclasses.dataclass
class Batch:
    items: int
    nbytes: int
    # Items that were left out: {"item", "path", "reason"}.
    errors: list
    # What numpy can read, for audits; only until the next batch.
    data: object = None


@dataclasses.dataclass
class _Sums:
    items: int = 0
    batches: int = 0
    nbytes: int = 0
    consumer_s: float = 0.0
    errors: list = dataclasses.field(default_factory=list)

    def add(self, batch):
        self.items += batch.items
        self.batches += batch.items > 0
        self.nbytes += batch.nbytes
        self.errors += batch.errors


class _Seen:
    """What an audit wants to know of an epoch."""

    def __init__(self):
        self._reader = item_ids.Reader()
        self._ids = []
        self._unreadable = 0

    def add(self, batch):
        if batch.data is None:
            raise ValueError("this loader cannot be audited by its content")
        ids, unreadable = self._reader.read(batch.data)
        self._ids.append(ids)
        self._unreadable += unreadable

    def reply(self, state):
        reply = {"ids": self._ids, "unreadable": self._unreadable}
        return reply if state is None else reply | {"state": state}


def _set_epoch(loader, command):
    seed, first = command.get("seed", 0), command.get("first", 0)
    if not command.get("ids"):
        loader.set_epoch(seed, first, command["count"])
        return
    loader.set_epoch(seed, first, command["count"], command.get("epoch", 0))
    if "state" in command:
        loader.resume(command["state"])


def run_epoch(loader, command, clock=time.perf_counter, sleep=time.sleep):
    """The reply to an `epoch` command."""
    _set_epoch(loader, command)
    seen = _Seen() if command.get("ids") else None
    state = None
    limit_s = command.get("limit_s", 0) or float("inf")
    consumer_s = command.get("consumer_s", 0)
    sums, samples = _Sums(), []
    cpu_s = loader.cpu_s()
    begin = clock()
    try:
        batches = loader.start()
        startup_s = clock() - begin
        asked = begin
        while True:
            batch = next(batches, None)
            got = clock()
            if batch is None:
                break
            sums.add(batch)
            samples.append(got - asked)
            if seen is not None:
                seen.add(batch)
                if len(samples) == command.get("batches"):
                    state = getattr(loader, "state", lambda: None)()
                    break
            del batch
            if consumer_s > 0:
                sleep(consumer_s)
                sums.consumer_s += clock() - got
            asked = clock()
            if asked - begin > limit_s:
                break
    finally:
        batches = None
        loader.stop()
    end = clock()
    return (seen.reply(state) if seen else {}) | {
        "items": sums.items,
        "batches": sums.batches,
        "elapsed_s": end - begin,
        "startup_s": startup_s,
        "first_batch_s": samples[0] if samples else end - begin,
        "teardown_s": end - asked,
        "samples_s": samples,
        "consumer_s": sums.consumer_s,
        "cpu_s": loader.cpu_s() - cpu_s,
        "stages": loader.stages(),
        "errors": sums.errors[:_NAMED_ERRORS],
        "errors_total": len(sums.errors),
        "bytes_out": sums.nbytes,
    }


class Stages:
    """How long workers are busy with each stage, summed in shared memory.

    One row per worker, written by that worker alone: no lock, and some 2 us per
    stage and item.
    """

    def __init__(self, rows):
        rows = max(rows, 1)
        # Anonymous and shared: forked workers write where we read.
        self._map = mmap.mmap(-1, rows * _COLUMNS * 8)
        self._busy = np.frombuffer(self._map).reshape(rows, _COLUMNS)
        self._row = self._busy[0]
        self._handed_over = None

    def use_row(self, row):
        """A worker calls this before it works."""
        self._row = self._busy[row]

    def resume(self):
        """A worker calls this when it begins an item."""
        if self._handed_over is not None:
            idle = time.perf_counter() - self._handed_over
            self._row[_IDLE] += idle
            self._handed_over = None

    def hand_over(self):
        """A worker calls this when it has made a batch."""
        self._handed_over = time.perf_counter()

    @contextlib.contextmanager
    def busy(self, name, without=None):
        """`without` names a stage inside this one that counts for itself."""
        inside = self._row[STAGES.index(without)] if without else 0
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            if without:
                spent -= self._row[STAGES.index(without)] - inside
            self._row[STAGES.index(name)] += spent

    @contextlib.contextmanager
    def waiting(self):
        """Around a wait for a device, also inside busy()."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._row[_SYNC] += time.perf_counter() - begin

    def sync_s(self):
        return float(self._busy[:, _SYNC].sum())

    def clear(self):
        self._busy[:] = 0

    def report(self):
        """The stages of the reply, without those that did nothing. Unknown
        numbers are 0."""
        *sums, idle, _ = self._busy.sum(axis=0).tolist()
        return [
            {
                "name": name,
                "busy_s": busy,
                "wait_in_s": 0,
                "wait_out_s": idle if name == "collate" else 0,
                "queue_fill": 0,
            }
            for name, busy in zip(STAGES, sums, strict=True)
            if busy > 0
        ]
