"""Processing of a batch in the main process: the copy to the device and, on a
GPU, the rest of the recipe."""

import torch


def last_stage(spec, recipe, stages):
    """A function from batch to batch, or None where the batch is ready."""
    if spec.device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("no CUDA device is here; use device cpu")
    if spec.copies_to_device:
        return Copy(torch.device(spec.device), stages)
    if spec.device == "cpu":
        return None
    if not hasattr(recipe, "finish"):
        raise ValueError("this library runs on the CPU only; use device cpu")
    return Finish(torch.device(spec.device), recipe, stages)


class Copy:
    """On a CPU, the device is a second buffer, reused for every batch."""

    def __init__(self, device, stages):
        self._device = device
        self._stages = stages
        self._target = None

    def __call__(self, batch):
        with self._stages.busy("copy"):
            if self._target is None or self._target.shape != batch.shape:
                self._target = torch.empty(batch.shape, device=self._device)
            self._target.copy_(batch, non_blocking=True)
            _synchronize(self._device, self._stages)
        return self._target


class Finish:
    """The copy, then transform and normalization on the device."""

    def __init__(self, device, recipe, stages):
        self._device = device
        self._recipe = recipe
        self._stages = stages

    def __call__(self, batch):
        with self._stages.busy("copy"):
            batch = batch.to(self._device, non_blocking=True)
            _synchronize(self._device, self._stages)
        with self._stages.busy("augment"):
            batch = self._recipe.finish(batch)
            _synchronize(self._device, self._stages)
        return batch


def _synchronize(device, stages):
    if device.type == "cuda":
        with stages.waiting():
            torch.cuda.synchronize(device)
