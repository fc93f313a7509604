"""Items to a batch in a worker: failed ones are left out, and Mixup or CutMix
is applied to the whole, as torchvision's own training code does it."""

import torch
from loaders.dataset import Failed
from operation import find
from params import Params
from torch.utils.data import default_collate

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
    from torchvision.transforms import v2

    arguments = Params(command["params"]).take_rest().fixed
    target = find(v2, command["native_op"])
    if target not in (v2.MixUp, v2.CutMix):
        raise ValueError(f"no batch transform {command['native_op']}")
    return target(num_classes=_CLASSES, **arguments)
