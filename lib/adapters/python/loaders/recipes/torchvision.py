"""torchvision: v2 transforms one after the other on uint8 CHW tensors."""

import torch
from loaders.recipes import torch_images
from loaders.recipes.clips import ClipRecipe, planes_of
from torchvision.transforms import v2


class Recipe(ClipRecipe):
    from_clip = staticmethod(planes_of)
    decode = staticmethod(torch_images.decode)
    from_array = staticmethod(torch_images.from_array)

    def __init__(self, library, command, spec):
        self.library = library
        self.use_clips(command, spec)
        self._groups = spec.groups
        operation = library.make(command)
        self.seed = operation.seed
        steps = [] if spec.is_crop else [_crop(spec)]
        self._steps = [*steps, operation.call, *_normalise(spec)]

    def with_channels(self, image):
        return torch_images.with_channels(image, self._groups)

    def call(self, image):
        for step in self._steps:
            image = step(image)
        return image.contiguous()


def _crop(spec):
    if spec.crop_position == "center":
        return lambda image: torch_images.center_window(image, spec.crop)
    return v2.RandomCrop((spec.crop, spec.crop), pad_if_needed=True)


def _normalise(spec):
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
