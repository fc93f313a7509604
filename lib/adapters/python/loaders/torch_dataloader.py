"""torch's DataLoader: worker processes, forked anew for each epoch unless they
are persistent."""

import os
import random

import numpy as np
import params
import torch
import torch.utils.data
from loaders import processes
from loaders.collate import Collate
from loaders.copy import Copy
from loaders.dataset import Items
from loaders.epoch import Batch
from loaders.stages import Stages


class Indexes:
    """The items of an epoch, in order; persistent workers get other ones by
    changing it."""

    def __init__(self):
        self.range = []
        self.shuffle = None

    def __len__(self):
        return len(self.range)

    def __iter__(self):
        if not self.shuffle:
            return iter(self.range)
        order = list(self.range)
        self.shuffle.shuffle(order)
        return iter(order)


class WorkerStart:
    """What a worker does first. Its parent is the process that made this."""

    def __init__(self, recipe, stages):
        self._parent = os.getpid()
        self._recipe = recipe
        self._stages = stages
        self.seed = 0

    def __call__(self, worker):
        processes.die_with(self._parent)
        self._stages.use_row(worker)
        seed_all(self._recipe, self.seed + worker)


def seed_all(recipe, seed):
    params.generator.seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    recipe.seed(seed)


class Loader:
    def __init__(self, source, recipe, spec, device):
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self._stages = Stages(spec.workers)
        self._worker_start = WorkerStart(recipe, self._stages)
        self._indexes = Indexes()
        self._copy = (
            Copy(device, self._stages) if spec.copies_to_device else None
        )
        self._loader = None
        self._iterator = None
        self._items = Items(source, recipe, spec, self._stages)
        processes.leave_no_files()

    def set_epoch(self, seed, first, count):
        indexes = [i % len(self._source) for i in range(first, first + count)]
        self._source.preload(sorted(set(indexes)))
        self._stages.clear()
        self._indexes.range = indexes
        self._indexes.shuffle = (
            random.Random(seed) if self._spec.shuffle else None
        )
        if self._loader is None or not self._spec.persistent:
            self._worker_start.seed = seed
            self._loader = self._make(seed)
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

    def cpu_s(self):
        return processes.cpu_s(self._running())

    def stages(self):
        return self._stages.report()

    def _make(self, seed):
        spec, forked = self._spec, self._spec.workers > 0
        return torch.utils.data.DataLoader(
            self._items,
            batch_size=spec.batch_size,
            sampler=self._indexes,
            num_workers=spec.workers,
            collate_fn=Collate(spec, self._stages),
            pin_memory=spec.pin_memory,
            drop_last=spec.drop_last,
            worker_init_fn=self._worker_start if forked else None,
            multiprocessing_context="fork" if forked else None,
            generator=torch.Generator().manual_seed(seed),
            prefetch_factor=spec.prefetch if forked else None,
            persistent_workers=spec.persistent,
        )

    def _batches(self):
        for batch, errors in self._iterator:
            if batch is None:
                yield Batch(0, 0, errors)
                continue
            if self._copy:
                self._copy(batch)
            yield Batch(
                len(batch), batch.numel() * batch.element_size(), errors
            )

    def _running(self):
        """Workers that live on after an epoch."""
        iterator = self._iterator or getattr(self._loader, "_iterator", None)
        return [worker.pid for worker in getattr(iterator, "_workers", [])]
