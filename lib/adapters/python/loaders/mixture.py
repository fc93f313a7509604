"""Mixtures of data sets: the job, its object `mixture`, and its timed batches.

Knows no library. A mixture has
  start(seed)   an iterator of MixedBatch that never ends
  stop()        returns when all threads are gone; may be called twice
  cpu_s()       processor time of this process
  faults()      what was left out: {"item", "path", "reason"}
  faults_total  how many there were; some may not be named
  left_out      names of data sets without any usable episode
"""

import dataclasses
import importlib
import json
import os
import time

METADATA = ("none", "dataset_only", "full")
ON_ERROR = ("skip", "fail")
# kMaxNamedErrors of lib/worker/message.h.
_NAMED_ERRORS = 1000
_AT_LEAST = {
    "batch_size": 1,
    "read_interleave": 1,
    "decode_parallelism": 0,
    "pipeline_interleave": 1,
    "mix_block_length": 1,
    "shuffle_buffer": 1,
    "queue_depth": 1,
    "samples_per_episode": 0,
    "pair_offset": 1,
    "prime_each_dataset_samples": 0,
    "action_chunk": 1,
    "frame_height": 1,
    "frame_width": 1,
}


@dataclasses.dataclass(frozen=True)
class MixtureSpec:
    """Names and defaults are those of MixtureConfig in run_config.proto."""

    batch_size: int = 64
    read_interleave: int = 2
    # 0: one thread a processor.
    decode_parallelism: int = 0
    pipeline_interleave: int = 2
    mix_block_length: int = 4
    shuffle_buffer: int = 16
    queue_depth: int = 4
    # 0: all pairs, in order.
    samples_per_episode: int = 5
    pair_offset: int = 1
    metadata: str = "none"
    prime_each_dataset_samples: int = 0
    # Actions of a sample: its own and those of the steps after it.
    action_chunk: int = 1
    frame_height: int = 224
    frame_width: int = 224
    on_error: str = "fail"

    @property
    def threads(self):
        return self.decode_parallelism or len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class EpisodeSet:
    """One data set: where its shards are, and how much of it is wanted."""

    name: str
    weight: float
    shards: list
    # Names of features; empty where its records have none. As in
    # MixtureSourceLine of lib/records/worker.proto.
    image: str = "frames"
    action: tuple = ("action",)
    state: tuple = ("state",)
    instruction: str = "instruction"
    episode_id: str = "episode_id"


def parse(message):
    """The object as a MixtureSpec; ValueError names what cannot be."""
    known = {field.name for field in dataclasses.fields(MixtureSpec)}
    unknown = sorted(set(message) - known)
    if unknown:
        raise ValueError(f"mixture: no field {', '.join(unknown)} is known")
    spec = MixtureSpec(**message)
    for name, allowed in (("metadata", METADATA), ("on_error", ON_ERROR)):
        if getattr(spec, name) not in allowed:
            raise ValueError(
                f"mixture: {name} is {getattr(spec, name)!r}, not one of"
                f" {', '.join(map(repr, allowed))}"
            )
    for name, least in _AT_LEAST.items():
        if getattr(spec, name) < least:
            raise ValueError(f"mixture: {name} is below {least}")
    return spec


def read_sets(fd):
    """The data sets of the JSON lines in a memory file, in their order."""
    size = os.fstat(fd).st_size
    lines = os.pread(fd, size, 0).decode().splitlines()
    sets = [EpisodeSet(**json.loads(line)) for line in lines if line]
    if not sets:
        raise ValueError("mixture: the list of data sets is empty")
    for one in sets:
        if not one.weight > 0:
            raise ValueError(
                f"mixture: {one.name} has the weight {one.weight}; use one"
                " above 0, or leave the data set out"
            )
        if not one.shards:
            raise ValueError(f"mixture: {one.name} has no shards")
    return sets


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


def import_module(library):
    """The module with the class Mixture for a library."""
    return importlib.import_module(f"loaders.{library.MIXTURE}")


class MixtureJob:
    """A child whose prepare has an object `mixture`."""

    def __init__(self, library, command, fd):
        if command.get("device", "cpu") != "cpu":
            raise ValueError(f"no device {command['device']!r} in this worker")
        self._spec = parse(command["mixture"])
        sets = read_sets(fd)
        if hasattr(library, "make_mixture"):
            self._mixture = library.make_mixture(sets, self._spec)
            return
        if not hasattr(library, "MIXTURE"):
            raise ValueError(f"{command.get('library')} mixes no data sets")
        self._mixture = import_module(library).Mixture(sets, self._spec)

    def epoch(self, command):
        if command["count"] < 1:
            raise ValueError(f"count {command['count']}")
        # What an epoch before left open is not part of this one.
        self._mixture.stop()
        return run_batches(self._mixture, command, self._spec.batch_size)

    def stop(self):
        return stop(self._mixture)
