"""DALI's imperative mode: a reader, and operators that are called for each
batch. Its threads are in this process."""

import numpy as np
import nvidia.dali.experimental.dynamic as ndd
from loaders import processes
from loaders.dali import batch_counts
from loaders.epoch import Batch
from loaders.source import ItemError
from loaders.spec import refuse_settings


class Loader:
    forks = False

    def __init__(self, source, recipe, spec, command):
        name = "DALI's imperative mode"
        refuse_settings(spec, name)
        if spec.device != "cpu" or spec.copies_to_device or spec.ablation:
            raise ValueError(f"{name} is measured whole, on the CPU, in memory")
        if not source.decodes or spec.source != "files":
            raise ValueError(f"{name} reads files")
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self._items = self._reader = self._rng = None
        self._finished = True

    def set_epoch(self, seed, first, count, epoch=0):
        items = [i % len(self._source) for i in range(first, first + count)]
        self._counts = batch_counts(self._spec, count, epoch)
        if items == self._items:
            return
        ndd.set_num_threads(max(1, self._spec.workers))
        self._items = items
        self._reader = self._read(items, seed, self._spec.shuffle)
        self._rng = ndd.random.RNG(seed=seed % 2**31)

    def state(self):
        """The reader's state, and the number of batches before it."""
        return f"{self._taken} {self._reader.get_state()}"

    def resume(self, state):
        batches, _, reader = state.partition(" ")
        self._counts = self._counts[int(batches) :]
        self._reader.set_state(reader)

    def start(self):
        return self._batches()

    def stop(self):
        """Keeps the reader, unless a part of the epoch is left in it."""
        if not self._finished:
            self._items = self._reader = None

    def outputs(self, indexes, seed):
        reader = self._read(indexes, seed, shuffle=False)
        rng = ndd.random.RNG(seed=seed % 2**31)
        for encoded, _ in reader.next_epoch(batch_size=len(indexes)):
            yield from _array(self._recipe.call(encoded, rng))

    def cpu_s(self):
        return processes.cpu_s()

    def stages(self):
        return []

    def _read(self, items, seed, shuffle):
        more = {}
        if shuffle:
            more = {
                "random_shuffle": True,
                "shard_id": self._spec.rank,
                "num_shards": self._spec.ranks,
                "enable_checkpointing": True,
            }
        return ndd.readers.File(
            files=[self._source.path(item) for item in items],
            labels=[0] * len(items),
            seed=seed % 2**31,
            pad_last_batch=True,
            **more,
        )

    def _batches(self):
        self._finished = False
        self._taken = 0
        epoch = self._reader.next_epoch(batch_size=self._spec.batch_size)
        try:
            # A continued reader would go on into the next epoch.
            for count, (encoded, _) in zip(self._counts, epoch, strict=False):
                # The last batch is filled up.
                batch = _array(self._recipe.call(encoded, self._rng))[:count]
                self._taken += 1
                yield Batch(count, batch.nbytes, [], batch)
            self._finished = next(epoch, None) is None
        except RuntimeError as error:
            raise self._named(error) from error

    def _named(self, error):
        """DALI does not say which file it was: tries them one by one."""
        for item in self._items:
            try:
                list(self.outputs([item], 0))
            except RuntimeError as again:
                reason = str(again).replace("\n", " ")
                path = self._source.path(item)
                return ItemError(f"item {item}, {path}: {reason}")
        return error


def _array(batch):
    return np.asarray(ndd.as_tensor(batch))
