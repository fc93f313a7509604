"""SPDL's pipelines: threads of one process, in the order of the items."""

from loaders import processes
from loaders.collate import Collate, make_mix, seed_all
from loaders.dataset import Items
from loaders.epoch import Batch, Stages
from loaders.source import ItemError
from loaders.spec import refuse_settings
from spdl.pipeline import PipelineBuilder


class Loader:
    forks = False

    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "SPDL")
        if (
            spec.device != "cpu"
            or spec.shuffle
            or spec.copies_to_device
            or spec.persistent
        ):
            raise ValueError(
                "SPDL is measured in order, in memory, with new threads for"
                " each epoch"
            )
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self._stages = Stages(1)
        self._items = Items(source, recipe, spec, self._stages)
        self._collate = Collate(spec, self._stages, make_mix(command, spec))
        self._pipeline = None

    def set_epoch(self, seed, first, count):
        indexes = [i % len(self._source) for i in range(first, first + count)]
        self._source.preload(sorted(set(indexes)))
        seed_all(self._recipe, seed)
        workers = max(1, self._spec.workers)
        self._pipeline = (
            PipelineBuilder()
            .add_source(indexes)
            .pipe(self._load, concurrency=workers, output_order="input")
            .aggregate(self._spec.batch_size, drop_last=self._spec.drop_last)
            .pipe(self._make_batch)
            .add_sink(self._spec.prefetch)
            # One more, so that a batch is made while items are.
            .build(num_threads=workers + 1)
        )

    def start(self):
        self._pipeline.start()
        return self._batches()

    def stop(self):
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.stop()

    def outputs(self, indexes, seed):
        seed_all(self._recipe, seed)
        for index in indexes:
            yield self._recipe.call(self._source.load(index, self._stages))

    def cpu_s(self):
        return processes.cpu_s()

    def stages(self):
        """Nothing: threads that wait for each other's lock are not busy."""
        return []

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
                yield Batch(len(batch), batch.nbytes, errors)
