"""Times the batches of a mixture; knows no library.

A mixture has
  start(seed)   an iterator of MixedBatch that never ends
  stop()        returns when all threads are gone; may be called twice
  cpu_s()       processor time of this process
  faults()      of what was left out: {"item", "path", "reason"}
  faults_total  how many there were; some may not be named
  left_out      names of data sets without any usable episode
"""

import dataclasses
import time

_NAMED_ERRORS = 20


@dataclasses.dataclass
class MixedBatch:
    # Numbers of data sets, each followed by its samples in this batch.
    counts: list
    nbytes: int


def run_batches(
    mixture, command, batch_size, clock=time.perf_counter, sleep=time.sleep
):
    """The reply to an `epoch` command. The mixture stays as it is: `stop` ends
    it, so that an end that hangs costs nothing that was measured."""
    wanted = -(-command["count"] // batch_size)
    limit_s = command.get("limit_s", 0) or float("inf")
    consumer_s = command.get("consumer_s", 0)
    times, waits, counts = [], [], []
    nbytes = slept_s = 0
    cpu_s = mixture.cpu_s()
    begin = clock()
    batches = mixture.start(command.get("seed", 0))
    startup_s = clock() - begin
    while len(times) < wanted:
        asked = clock()
        if asked - begin > limit_s:
            break
        batch = next(batches)
        got = clock()
        times.append(got - begin)
        waits.append(got - asked)
        counts.append(batch.counts)
        nbytes += batch.nbytes
        del batch
        if consumer_s > 0:
            sleep(consumer_s)
            slept_s += clock() - got
    end = clock()
    return {
        "items": sum(sum(pairs[1::2]) for pairs in counts),
        "batches": len(times),
        "elapsed_s": end - begin,
        "startup_s": startup_s,
        "first_batch_s": times[0] if times else end - begin,
        "teardown_s": 0.0,
        "samples_s": waits,
        "times_s": times,
        "counts": counts,
        "consumer_s": slept_s,
        "cpu_s": mixture.cpu_s() - cpu_s,
        "stages": [],
        "errors": mixture.faults()[:_NAMED_ERRORS],
        "errors_total": mixture.faults_total,
        "left_out": mixture.left_out,
        "bytes_out": nbytes,
    }


def stop(mixture, clock=time.perf_counter):
    """The reply to a `stop` command."""
    begin = clock()
    mixture.stop()
    return {"teardown_s": clock() - begin}
