"""Grain: a data set by index, shuffled and batched, read by threads of one
process."""

import json

import grain
from loaders.collate import ThreadLoader, seed_all
from loaders.dataset import Items
from loaders.epoch import Batch
from loaders.spec import refuse_settings


class Loader(ThreadLoader):
    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "Grain")
        if spec.device != "cpu" or spec.copies_to_device:
            raise ValueError("Grain is measured on the CPU, in memory")
        super().__init__(source, recipe, spec, command)
        self._items = Items(source, recipe, spec, self._stages)
        self._data = self._iterator = self._state = None

    def set_epoch(self, seed, first, count, epoch=0):
        spec = self._spec
        indexes = [i % len(self._source) for i in range(first, first + count)]
        self._source.preload(sorted(set(indexes)))
        seed_all(self._recipe, seed)
        data = grain.MapDataset.source(indexes)
        if spec.shuffle:
            # Each repetition has an order of its own.
            data = data.shuffle(seed=seed % 2**32).repeat(epoch + 1)
            data = data[epoch * count :][spec.rank :: spec.ranks]
        data = data.map(self._items.__getitem__).batch(
            spec.batch_size,
            drop_remainder=spec.drop_last,
            batch_fn=self._collate,
        )
        threads = max(1, spec.workers)
        self._data = data.to_iter_dataset(
            grain.ReadOptions(
                num_threads=threads,
                prefetch_buffer_size=threads * spec.prefetch,
            )
        )
        self._state = None

    def state(self):
        return json.dumps(self._iterator.get_state())

    def resume(self, state):
        self._state = json.loads(state)

    def start(self):
        self._iterator = iter(self._data)
        if self._state is not None:
            self._iterator.set_state(self._state)
        return self._batches()

    def stop(self):
        iterator, self._iterator = self._iterator, None
        if iterator is not None:
            iterator.close()

    def _batches(self):
        for batch, errors in self._iterator:
            if batch is None:
                yield Batch(0, 0, errors)
            else:
                yield Batch(len(batch), batch.nbytes, errors, batch)
