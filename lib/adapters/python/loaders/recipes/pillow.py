"""Pillow: PIL images until torchvision's PILToTensor, then torch by hand."""

import io

import torch
from library_support import pillow_crops
from operation import operation_of
from PIL import Image
from torchvision.transforms import v2


class Recipe:
    def __init__(self, library, command, spec):
        if spec.channels != 3:
            raise ValueError(f"no PIL image has {spec.channels} channels")
        self.library = library
        self._spec = spec
        operation = operation_of(library, command, spec)
        self.seed = operation.seed
        steps = [] if spec.is_crop else [_crop(spec)]
        if operation.native:
            steps.append(operation.native)
        self._steps = [*steps, v2.PILToTensor()]

    def decode(self, data, path):
        with Image.open(io.BytesIO(data)) as image:
            return image.convert("RGB")

    def from_array(self, array):
        return Image.fromarray(array)

    def with_channels(self, image):
        return image

    def call(self, image):
        for step in self._steps:
            image = step(image)
        # As the public benchmark does, the constants are made anew each time.
        mean = torch.tensor(self._spec.mean).view(-1, 1, 1)
        std = torch.tensor(self._spec.std).view(-1, 1, 1)
        image = image.float().div_(self._spec.input_scale)
        return image.sub_(mean).div_(std)


def _crop(spec):
    size = (spec.crop, spec.crop)
    if spec.crop_position == "center":
        return lambda image: pillow_crops.center_crop(image, size)
    return lambda image: pillow_crops.random_crop(image, size)
