"""A mixture of the user: a function that makes an endless iterable of batches.

A batch says where its items come from: it is a pair (anything, data sets) or a
dict with the key `dataset`; the data sets are numbers or names, one per item.
"""

import os

from loaders import own_loader, processes
from loaders.mixture import MixedBatch


class Mixture:
    faults_total = 0
    left_out = ()

    def __init__(self, factory, sets, spec):
        self._factory = factory
        self._names = {one.name: i for i, one in enumerate(sets)}
        self._batch_size = spec.batch_size
        self._iterator = None
        self._offered = {
            "datasets": {one.name: list(one.shards) for one in sets},
            "weights": {one.name: one.weight for one in sets},
            "seed": 0,
            "workers": spec.threads,
            **{name: getattr(spec, name) for name in spec.__dataclass_fields__},
        }

    def start(self, seed):
        self._offered["seed"] = seed
        self._iterator = iter(
            own_loader.call_with(self._factory, self._offered)
        )
        return map(self._mixed, self._iterator)

    def stop(self):
        iterator, self._iterator = self._iterator, None
        if hasattr(iterator, "close"):
            iterator.close()

    def cpu_s(self):
        return processes.cpu_s(own_loader.descendants(os.getpid()))

    def faults(self):
        return []

    def _mixed(self, batch):
        if isinstance(batch, dict) and "dataset" in batch:
            data, sources = batch, batch["dataset"]
        elif isinstance(batch, (list, tuple)) and len(batch) == 2:
            data, sources = batch
        else:
            raise TypeError(
                "a batch says where its items come from: yield (batch, data"
                " sets) or a dict with the key 'dataset'"
            )
        sources = [
            self._names[one] if isinstance(one, str) else int(one)
            for one in sources
        ]
        if len(sources) != self._batch_size:
            raise ValueError(
                f"a batch has {len(sources)} items, not {self._batch_size};"
                " take the argument `batch_size`"
            )
        counts = []
        for number in sorted(set(sources)):
            counts += [number, sources.count(number)]
        return MixedBatch(counts, own_loader.bytes_of(data))
