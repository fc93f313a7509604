"""Makes a batch of items in a worker: leaves out failed ones, and applies Mixup
or CutMix to the whole, as torchvision's own training code does."""

import random

import numpy as np
import torch
from loaders import processes
from loaders.dataset import Failed
from loaders.epoch import Stages
from operation import find
from params import Params, generator
from torch.utils.data import default_collate

try:
    from torchvision.transforms import v2
except ImportError:  # Only batches that are mixed need it.
    v2 = None

# The classes that labels are drawn from; Mixup and CutMix want labels.
_CLASSES = 1000


class Collate:
    """collate(list of tensors and Failed) is (batch or None, errors)."""

    def __init__(self, spec, stages, mix=None):
        self._stages = stages
        self._mix = mix
        self._shape = (spec.channels, spec.crop, spec.crop)
        self._cached = spec.ablation == "cached_batch"
        self._batch = None

    def __call__(self, items):
        with self._stages.busy("collate"):
            batch = self._batch_of(items)
        self._stages.hand_over()
        return batch

    def _batch_of(self, items):
        if self._cached:
            return self._same(len(items)), []
        whole = [item for item in items if not isinstance(item, Failed)]
        errors = [i.named() for i in items if isinstance(i, Failed)]
        if not whole:
            return None, errors
        return self._mixed(default_collate(whole)), errors

    def _same(self, count):
        if self._batch is None or len(self._batch) != count:
            self._batch = torch.zeros(count, *self._shape)
        # A new tensor each time: one that is sent is moved to shared memory.
        return self._batch.clone()

    def _mixed(self, batch):
        if self._mix is None:
            return batch
        labels = torch.arange(len(batch)) % _CLASSES
        return self._mix(batch, labels)[0]


def make_mix(command, spec):
    """The batch transform of a prepare command, or None. Its entry in the
    catalogue is a class of v2, MixUp or CutMix, with its alpha."""
    if not spec.batch_transform:
        return None
    if spec.finishes_on_gpu:
        raise ValueError("batches are mixed in the workers; use device cpu")
    if v2 is None:
        raise ValueError(f"{spec.batch_transform} needs torchvision")
    arguments = Params(command["params"]).take_rest().fixed
    target = find(v2, command["native_op"])
    if target not in (v2.MixUp, v2.CutMix):
        raise ValueError(f"no batch transform {command['native_op']}")
    return target(num_classes=_CLASSES, **arguments)


def seed_all(recipe, seed):
    """Seeds everything that a recipe may draw from."""
    generator.seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    recipe.seed(seed)


class ThreadLoader:
    """The shared part of loaders whose threads are in this process."""

    forks = False

    def __init__(self, source, recipe, spec, command):
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self._stages = Stages(1)
        self._collate = Collate(spec, self._stages, make_mix(command, spec))

    def outputs(self, indexes, seed):
        seed_all(self._recipe, seed)
        for index in indexes:
            yield self._recipe.call(self._source.load(index, self._stages))

    def cpu_s(self):
        return processes.cpu_s()

    def stages(self):
        """Nothing: threads that wait for each other's lock are not busy."""
        return []
