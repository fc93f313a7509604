"""WebDataset: each worker process streams its share of the shards.

Batches hold the images of one worker, so their order depends on the workers;
with fewer shards than workers, some workers do nothing.
"""

import os

import webdataset
from loaders.collate import seed_all
from loaders.source import EXTENSIONS, ItemError, ShardSource
from loaders.stream import StreamLoader


class Loader(StreamLoader):
    name = "WebDataset"

    def __init__(self, source, recipe, spec, command):
        if not isinstance(source, ShardSource):
            raise ValueError("WebDataset reads shards; give it tar files")
        # What WebDataset knows of ranks.
        os.environ["RANK"] = str(spec.rank)
        os.environ["WORLD_SIZE"] = str(spec.ranks)
        super().__init__(source, recipe, spec, command)

    def outputs(self, indexes, seed):
        found = {}
        for sample in self._shards():
            index, data, name = self._unpacked(sample)
            if index in indexes:
                found[index] = (data, name)
        seed_all(self._recipe, seed)
        for index in indexes:
            yield self._recipe.call(self._decoded(*found[index]))

    def _arguments(self, seed):
        return super()._arguments(seed) | {"batch_size": None}

    def _stream(self):
        stream = self._shards().map(self._load)
        return stream.batched(
            self._spec.batch_size,
            collation_fn=self._collate(),
            partial=not self._spec.drop_last,
        )

    def _shards(self):
        if not self._spec.shuffle:
            return webdataset.WebDataset(
                self._source.shards, shardshuffle=False, empty_check=False
            )
        # By shards, then by a buffer of samples; both by the seed.
        stream = webdataset.WebDataset(
            self._source.shards,
            shardshuffle=len(self._source.shards),
            detshuffle=True,
            seed=self._seed,
            nodesplitter=webdataset.split_by_node,
            empty_check=False,
        )
        return stream.compose(webdataset.detshuffle(1000, seed=self._seed))

    def _unpacked(self, sample):
        for extension in EXTENSIONS:
            if extension in sample:
                name = f"{sample['__key__']}.{extension}"
                index = self._source.index(sample["__url__"], name)
                return index, sample[extension], name
        raise ItemError(
            f"{sample['__url__']}: {sample['__key__']} holds no image"
        )

    def _load(self, sample):
        return self._item(*self._unpacked(sample))
