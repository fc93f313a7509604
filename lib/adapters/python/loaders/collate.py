"""Items to a batch in a worker: failed ones are left out, and Mixup or CutMix
is applied to the whole, as torchvision's own training code does it."""

import torch
from loaders.dataset import Failed
from torch.utils.data import default_collate

# The classes that labels are drawn from; Mixup and CutMix want labels.
_CLASSES = 1000
# As torchvision's training code has them.
_ALPHA = {"mixup": 0.2, "cutmix": 1.0}


class Collate:
    """collate(list of tensors and Failed) is (batch or None, errors)."""

    def __init__(self, spec, stages):
        self._stages = stages
        self._mix = _mix(spec.batch_transform)
        self._shape = (spec.channels, spec.crop, spec.crop)
        self._cached = spec.ablation == "cached_batch"
        self._batch = None

    def __call__(self, items):
        with self._stages.busy("collate"):
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


def _mix(name):
    if not name:
        return None
    from torchvision.transforms import v2

    kind = {"mixup": v2.MixUp, "cutmix": v2.CutMix}[name]
    return kind(alpha=_ALPHA[name], num_classes=_CLASSES)
