"""torchvision: v2 transforms one after the other on uint8 CHW tensors.

With a GPU, workers only crop. The transform runs on the GPU for one sample
after the other, and the normalization for the whole batch. For clips, workers
only decode, and the crop runs on the GPU too.
"""

import torch
from loaders.recipes import torch_images
from loaders.recipes.clips import ClipRecipe, planes_of
from operation import operation_of
from torchvision.transforms import v2


class Recipe(ClipRecipe):
    from_clip = staticmethod(planes_of)
    decode = staticmethod(torch_images.decode)
    from_array = staticmethod(torch_images.from_array)

    def __init__(self, library, command, spec):
        self.library = library
        self.use_clips(command, spec)
        self._groups = spec.groups
        operation = operation_of(library, command, spec)
        self.seed = operation.seed
        self._spec = spec
        self._operation = operation
        crop = operation.call if spec.is_crop else _crop(spec)
        self._crop = crop
        if spec.finishes_on_gpu:
            self._steps = [] if self.is_clip else [crop]
        elif spec.is_crop:
            self._steps = [crop, *_normalize(spec)]
        else:
            self._steps = [crop, operation.call, *_normalize(spec)]

    def with_channels(self, image):
        return torch_images.with_channels(image, self._groups)

    def call(self, image):
        for step in self._steps:
            image = step(image)
        return image.contiguous()

    def finish(self, batch):
        """What is left to do with a batch of crops, or of whole clips, where it
        is."""
        if self.is_clip:
            batch = torch.stack([self._crop(clip) for clip in batch])
        if not self._spec.is_crop:
            batch = torch.stack([self._operation.call(one) for one in batch])
        mean = torch.tensor(self._spec.mean, device=batch.device)
        std = torch.tensor(self._spec.std, device=batch.device)
        if not batch.is_floating_point():
            batch = batch.float().div_(self._spec.input_scale)
        return batch.sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))


def _crop(spec):
    if spec.crop_position == "center":
        return lambda image: torch_images.center_window(image, spec.crop)
    return v2.RandomCrop((spec.crop, spec.crop), pad_if_needed=True)


def _normalize(spec):
    if spec.channels == 3 and spec.input_scale == 255:
        return [
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(spec.mean, spec.std),
        ]
    # With more channels it is written by hand.
    mean = torch.tensor(spec.mean).view(-1, 1, 1)
    std = torch.tensor(spec.std).view(-1, 1, 1)
    return [
        lambda image: (image.float().div_(spec.input_scale) - mean).div_(std)
    ]
