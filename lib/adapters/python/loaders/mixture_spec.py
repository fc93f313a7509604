"""The object `mixture` of a prepare command, and its data sets, checked."""

import dataclasses
import json
import os

METADATA = ("none", "dataset_only", "full")
ON_ERROR = ("skip", "fail")
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
