"""datago: threads in Rust read and decode the files of a folder, in an order
that nobody chooses. The recipe runs where the samples arrive, in one thread."""

import json
import os

import datago
import numpy as np
from loaders.collate import ThreadLoader, seed_all
from loaders.epoch import Batch
from loaders.source import converted
from loaders.spec import refuse_settings


class Loader(ThreadLoader):
    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "datago")
        if spec.device != "cpu" or spec.copies_to_device or spec.ablation:
            raise ValueError("datago is measured whole, on the CPU, in memory")
        if not source.decodes or spec.source != "files":
            raise ValueError("datago reads files")
        super().__init__(source, recipe, spec, command)
        self._folder = converted("datago", source, self._link)
        self._count = 0
        self._client = None
        os.environ["DATAGO_MAX_TASKS"] = str(max(1, spec.workers))

    def set_epoch(self, seed, first, count, epoch=0):
        if first % len(self._source):
            raise ValueError("datago reads a folder whole; first is not 0")
        self._count = count
        # Draws of the recipe; datago's own have no seed.
        seed_all(self._recipe, seed)

    def start(self):
        return self._batches()

    def stop(self):
        client, self._client = self._client, None
        if client is not None:
            client.stop()

    def _link(self, folder):
        """A folder with just these files."""
        for index in range(len(self._source)):
            path = self._source.path(index)
            name = f"{index:08d}{os.path.splitext(path)[1]}"
            (folder / name).symlink_to(os.path.abspath(path))

    def _samples(self):
        """Passes over the folder, until the epoch has its items."""
        left = self._count
        while left > 0:
            self.stop()
            limit = min(left, len(self._source))
            config = {
                "source_type": "file",
                "source_config": {
                    "root_path": str(self._folder),
                    "random_sampling": self._spec.shuffle,
                    "rank": self._spec.rank,
                    "world_size": self._spec.ranks,
                },
                "limit": limit,
                "samples_buffer_size": self._spec.batch_size
                * self._spec.prefetch,
            }
            self._client = datago.DatagoClient(json.dumps(config))
            while (sample := self._client.get_sample()) is not None:
                yield self._tensor(np.asarray(sample.image))
            left -= limit

    def _tensor(self, array):
        image = self._recipe.from_array(array[:, :, :3])
        return self._recipe.call(self._recipe.with_channels(image))

    def _batches(self):
        items = []
        for item in self._samples():
            items.append(item)
            if len(items) == self._spec.batch_size:
                yield self._batch(items)
                items = []
        if items and not self._spec.drop_last:
            yield self._batch(items)

    def _batch(self, items):
        batch, errors = self._collate(items)
        return Batch(len(batch), batch.nbytes, errors, batch)
