"""AlbumentationsX: one Compose of crop, transform, Normalize and ToTensorV2."""

import albumentations
import cv2
import numpy as np
from albumentations.pytorch import ToTensorV2
from loaders.recipes.clips import ClipRecipe
from operation import operation_of

# As the other libraries decode: RGB, and no turning by EXIF.
_FLAGS = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION


class Recipe(ClipRecipe):
    def __init__(self, library, command, spec):
        self.library = library
        self.use_clips(command, spec)
        self._groups = spec.groups
        operation = operation_of(library, command, spec)
        self._compose = albumentations.Compose(
            [
                *([] if spec.is_crop else [_crop(spec)]),
                *([operation.native] if operation.native else []),
                albumentations.Normalize(
                    mean=spec.mean,
                    std=spec.std,
                    max_pixel_value=spec.input_scale,
                    p=1,
                ),
                ToTensorV2(),
            ],
            # It would ask the network from a thread, and workers are forked.
            telemetry=False,
        )

    def decode(self, data, path):
        image = cv2.imdecode(np.frombuffer(data, np.uint8), _FLAGS)
        if image is None:
            raise ValueError("OpenCV cannot decode it")
        return image

    def from_array(self, array):
        return array

    def with_channels(self, image):
        if self._groups == 1 or image.shape[2] == 3 * self._groups:
            return image
        return np.concatenate([image] * self._groups, axis=2)

    def from_clip(self, clip):
        return clip

    def call(self, image):
        if self.is_clip:
            return self._compose(images=image)["images"]
        return self._compose(image=image)["image"]

    def seed(self, value):
        self._compose.set_random_seed(value % 2**32)


def _crop(spec):
    crop = {
        "random": albumentations.RandomCrop,
        "center": albumentations.CenterCrop,
    }[spec.crop_position]
    return crop(height=spec.crop, width=spec.crop, pad_if_needed=True, p=1)
