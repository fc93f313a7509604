"""Times one epoch of a loader; knows neither torch nor processes.

A loader has
  forks                          whether it makes worker processes
  set_epoch(seed, first, count)  untimed: what the loader object itself costs
  start()                        an iterator of Batch
  stop()                         returns when no worker is left; may be called
                                 at any moment, and twice
  cpu_s()                        processor time of this process and its workers
  stages()                       as the reply has them
  outputs(indexes, seed)         the tensors of single items
"""

import dataclasses
import time

_NAMED_ERRORS = 20


@dataclasses.dataclass
class Batch:
    items: int
    nbytes: int
    # Of items that were left out: {"item", "path", "reason"}.
    errors: list


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


def run_epoch(loader, command, clock=time.perf_counter, sleep=time.sleep):
    """The reply to an `epoch` command."""
    loader.set_epoch(
        command.get("seed", 0), command.get("first", 0), command["count"]
    )
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
    return {
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
