"""torch's DataLoader: worker processes, forked anew for each epoch unless they
are persistent."""

import os

import torch
import torch.utils.data
import worker_files
from loaders import processes
from loaders.collate import Collate, make_mix, seed_all
from loaders.dataset import Items
from loaders.device import last_stage
from loaders.epoch import Batch, Stages
from loaders.spec import refuse_settings


class Indexes:
    """The items of an epoch, in order. Changing it gives persistent workers
    other items."""

    def __init__(self):
        self.range = []

    def __len__(self):
        return len(self.range)

    def __iter__(self):
        return iter(self.range)


class WorkerStart:
    """What a worker does first. Its parent is the process that made this."""

    def __init__(self, recipe, stages):
        self._parent = os.getpid()
        self._recipe = recipe
        self._stages = stages
        self.seed = 0

    def __call__(self, worker):
        if worker_files.current:
            worker_files.current.note(worker, os.getpid())
        processes.die_with(self._parent)
        self._stages.use_row(worker)
        seed_all(self._recipe, self.seed + worker)


class Loader:
    # What a loader with the same interface replaces.
    DataLoader = torch.utils.data.DataLoader
    DistributedSampler = torch.utils.data.DistributedSampler

    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "torch's DataLoader")
        self._mix = make_mix(command, spec)
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self.forks = spec.workers > 0
        self._stages = Stages(spec.workers)
        self._worker_start = WorkerStart(recipe, self._stages)
        self._indexes = Indexes()
        self._last = last_stage(spec, recipe, self._stages)
        self._loader = None
        self._iterator = None
        self._items = Items(source, recipe, spec, self._stages)
        processes.leave_no_files()

    def set_epoch(self, seed, first, count, epoch=0):
        indexes = [i % len(self._source) for i in range(first, first + count)]
        if self._spec.shuffle and indexes != list(range(len(self._source))):
            raise ValueError("a shuffled epoch has every item once")
        self._source.preload(sorted(set(indexes)))
        self._stages.clear()
        self._indexes.range = indexes
        if self._loader is None or not self._spec.persistent:
            self._worker_start.seed = seed
            self._loader = self._make(seed)
        if isinstance(self._loader.sampler, self.DistributedSampler):
            self._loader.sampler.set_epoch(epoch)
        if not self._spec.workers:
            seed_all(self._recipe, seed)

    def start(self):
        self._iterator = iter(self._loader)
        return self._batches()

    def stop(self):
        iterator, self._iterator = self._iterator, None
        if self._spec.persistent:
            return
        # Waits for the workers; to drop the iterator would do, but the frames
        # of an exception may hold it.
        if hasattr(iterator, "_shutdown_workers"):
            iterator._shutdown_workers()
        self._loader = None

    def outputs(self, indexes, seed):
        seed_all(self._recipe, seed)
        for index in indexes:
            image = self._source.load(index, self._stages)
            output = self._recipe.call(image)
            if self._spec.finishes_on_gpu:
                output = self._last(output[None])[0].cpu()
            yield output

    def cpu_s(self):
        return processes.cpu_s(self._running())

    def stages(self):
        return self._stages.report()

    def sync(self):
        """Waits for a GPU, as the reply has them: the main process alone
        drives it."""
        if self._spec.device != "cuda":
            return {}
        return {"sync_s": self._stages.sync_s(), "sync_threads": 1}

    def _make(self, seed):
        spec, forked = self._spec, self._spec.workers > 0
        return self.DataLoader(
            self._items,
            batch_size=spec.batch_size,
            **self._sampling(seed),
            num_workers=spec.workers,
            collate_fn=self._collate(),
            pin_memory=spec.pin_memory,
            drop_last=spec.drop_last,
            worker_init_fn=self._worker_start if forked else None,
            multiprocessing_context="fork" if forked else None,
            generator=torch.Generator().manual_seed(seed),
            prefetch_factor=spec.prefetch if forked else None,
            persistent_workers=spec.persistent,
        )

    def _sampling(self, seed):
        """Shuffled as in training: by the DataLoader, and shared among ranks by
        its sampler."""
        spec = self._spec
        if not spec.shuffle:
            return {"sampler": self._indexes}
        if spec.ranks == 1:
            return {"shuffle": True}
        sampler = self.DistributedSampler(
            self._items, spec.ranks, spec.rank, seed=seed % 2**31
        )
        return {"sampler": sampler}

    def _collate(self):
        return Collate(self._spec, self._stages, self._mix)

    def _batches(self):
        for batch, errors in self._iterator:
            if batch is None:
                yield Batch(0, 0, errors)
                continue
            if self._last:
                batch = self._last(batch)
            nbytes = batch.numel() * batch.element_size()
            yield Batch(len(batch), nbytes, errors, batch)

    def _running(self):
        """Workers that keep running after an epoch."""
        iterator = self._iterator or getattr(self._loader, "_iterator", None)
        return [worker.pid for worker in getattr(iterator, "_workers", [])]
