"""SPDL's pipelines: threads of one process, which deliver in the order of the
source."""

from loaders.collate import ThreadLoader, seed_all
from loaders.dataset import Items
from loaders.epoch import Batch
from loaders.source import ItemError
from loaders.spec import refuse_settings
from spdl.pipeline import PipelineBuilder
from spdl.source import DistributedRandomSampler
from spdl.source.utils import embed_shuffle


class Loader(ThreadLoader):
    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "SPDL")
        if spec.device != "cpu" or spec.copies_to_device:
            raise ValueError("SPDL is measured on the CPU, in memory")
        super().__init__(source, recipe, spec, command)
        self._items = Items(source, recipe, spec, self._stages)
        self._pipeline = self._indexes = self._sampler = None
        self._started = self._finished = False

    def set_epoch(self, seed, first, count, epoch=0):
        indexes = [i % len(self._source) for i in range(first, first + count)]
        self._source.preload(sorted(set(indexes)))
        seed_all(self._recipe, seed)
        if self._spec.shuffle:
            indexes = self._shuffled(seed, count)
        if self._pipeline is None or indexes != self._indexes:
            self.stop(whole=True)
            self._pipeline = self._build(indexes)
            self._indexes = indexes

    def start(self):
        if not self._started:
            self._pipeline.start()
            self._started = True
        self._finished = False
        return self._batches()

    def stop(self, whole=False):
        """Keeps a persistent pipeline, unless it holds items of the epoch."""
        if self._spec.persistent and self._finished and not whole:
            return
        pipeline, self._pipeline = self._pipeline, None
        self._started = False
        if pipeline is not None:
            pipeline.stop()

    def _shuffled(self, seed, count):
        """Each pass over it shuffles by the next seed. Ranks get as many items
        each, and the rest is dropped: the sampler's default."""
        if self._sampler is None:
            sampler = DistributedRandomSampler(
                count, rank=self._spec.rank, world_size=self._spec.ranks
            )
            self._sampler = embed_shuffle(sampler, epoch=seed % 2**31)
        return self._sampler

    def _build(self, indexes):
        workers = max(1, self._spec.workers)
        # Persistent pipelines read their source again and again.
        more = {"continuous": True} if self._spec.persistent else {}
        return (
            PipelineBuilder()
            .add_source(indexes, **more)
            .pipe(self._load, concurrency=workers, output_order="input")
            .aggregate(self._spec.batch_size, drop_last=self._spec.drop_last)
            .pipe(self._make_batch)
            .add_sink(self._spec.prefetch)
            # One more, so that a batch is made while items are.
            .build(num_threads=workers + 1)
        )

    def _load(self, index):
        # A pipeline would log an exception and go on.
        try:
            return self._items[index]
        except ItemError as error:
            return error

    def _make_batch(self, items):
        for item in items:
            if isinstance(item, ItemError):
                return item
        return self._collate(items)

    def _batches(self):
        for made in self._pipeline.get_iterator():
            if isinstance(made, ItemError):
                raise made
            batch, errors = made
            if batch is None:
                yield Batch(0, 0, errors)
            else:
                yield Batch(len(batch), batch.nbytes, errors, batch)
        self._finished = True
