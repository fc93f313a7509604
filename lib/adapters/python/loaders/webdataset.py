"""WebDataset: each worker process streams its share of the shards.

Batches hold the images of one worker, so their order depends on the workers;
with fewer shards than workers, some workers do nothing.
"""

import os

import torch
import webdataset
from loaders import torch_dataloader
from loaders.collate import seed_all
from loaders.dataset import Failed
from loaders.source import EXTENSIONS, ItemError, ShardSource, array_of_npy


class Loader(torch_dataloader.Loader):
    """Like torch's DataLoader, with a stream instead of numbered items."""

    def __init__(self, source, recipe, spec, command):
        if not isinstance(source, ShardSource):
            raise ValueError("WebDataset reads shards; give it tar files")
        if spec.ablation:
            raise ValueError("WebDataset is measured whole")
        # What WebDataset knows of ranks.
        os.environ["RANK"] = str(spec.rank)
        os.environ["WORLD_SIZE"] = str(spec.ranks)
        super().__init__(source, recipe, spec, command)
        self._left = self._seed = 0

    def set_epoch(self, seed, first, count, epoch=0):
        if first % len(self._source):
            raise ValueError("shards are read from their start; first is not 0")
        self._left = count
        self._seed = seed % 2**31
        super().set_epoch(seed, first, count)

    def outputs(self, indexes, seed):
        found = {}
        for sample in self._stream():
            index, data, name = self._unpacked(sample)
            if index in indexes:
                found[index] = (data, name)
        seed_all(self._recipe, seed)
        for index in indexes:
            yield self._recipe.call(self._decoded(*found[index]))

    def _make(self, seed):
        spec = self._spec
        forked = spec.workers > 0
        stream = self._stream().map(self._load)
        stream = stream.batched(
            spec.batch_size,
            collation_fn=self._collate(),
            partial=not spec.drop_last,
        )
        return torch.utils.data.DataLoader(
            stream,
            batch_size=None,
            num_workers=spec.workers,
            pin_memory=spec.pin_memory,
            worker_init_fn=self._worker_start if forked else None,
            multiprocessing_context="fork" if forked else None,
            generator=torch.Generator().manual_seed(seed),
            prefetch_factor=spec.prefetch if forked else None,
            persistent_workers=spec.persistent,
        )

    def _batches(self):
        if self._spec.shuffle:
            # An audit wants to see how an epoch ends.
            yield from super()._batches()
            return
        # More items than there are: again from the start, as a loop over
        # epochs would.
        while self._left > 0:
            for batch in super()._batches():
                # A stream knows no end of an epoch but its own: what is more
                # than was asked for is not counted.
                if batch.items > self._left:
                    batch.nbytes = batch.nbytes // batch.items * self._left
                    batch.items = self._left
                self._left -= batch.items + len(batch.errors)
                yield batch
                if self._left <= 0:
                    return
            self._iterator = iter(self._loader)

    def _stream(self):
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
        self._stages.resume()
        index, data, name = self._unpacked(sample)
        path = self._source.path(index)
        try:
            with self._stages.busy("decode"):
                image = self._decoded(data, name)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            if self._spec.on_error == "fail":
                raise ItemError(f"item {index}, {path}: {reason}") from error
            return Failed(index, path, reason)
        try:
            with self._stages.busy("augment"):
                return self._recipe.call(image)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ItemError(f"item {index}, {path}: {reason}") from error

    def _decoded(self, data, name):
        if name.endswith(".npy"):
            image = self._recipe.from_array(array_of_npy(data))
        else:
            image = self._recipe.decode(data, name)
        return self._recipe.with_channels(image)
