"""The last stage of the scope with `batch_copy`: the batch to the device."""

import torch


class Copy:
    """On a CPU the device is a second buffer, used again for each batch."""

    def __init__(self, device, stages):
        self._device = torch.device(device)
        self._stages = stages
        self._target = None

    def __call__(self, batch):
        with self._stages.busy("copy"):
            if self._target is None or self._target.shape != batch.shape:
                self._target = torch.empty(batch.shape, device=self._device)
            self._target.copy_(batch, non_blocking=True)
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
