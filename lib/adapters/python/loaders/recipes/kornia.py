"""Kornia: float32 CHW tensors from 0 to 1, in batches of one.

On a GPU workers only crop, and transform and normalization run there for the
whole batch, with parameters drawn for each sample. Of clips workers do nothing
but decode: the crop runs there too.
"""

import kornia
import torch
from loaders.recipes import torch_images
from loaders.recipes.clips import ClipRecipe, planes_of
from operation import operation_of


class Recipe(ClipRecipe):
    def __init__(self, library, command, spec):
        self.library = library
        self.use_clips(command, spec)
        self._spec = spec
        operation = operation_of(library, command, spec)
        self.seed = operation.seed
        self._operation = operation
        self._normalize = kornia.augmentation.Normalize(
            mean=torch.tensor(spec.mean), std=torch.tensor(spec.std), p=1
        )
        if spec.finishes_on_gpu:
            library.quiet(self._normalize)
        crop = operation.call if spec.is_crop else _crop(spec, self.is_clip)
        self._steps = [crop]
        self._crop_clips = None
        if not spec.finishes_on_gpu:
            self._steps += self._finishing(spec)
        elif self.is_clip:
            self._steps = []
            self._crop_clips = _crop_of_clips(library, spec)
        if spec.finishes_on_gpu and hasattr(library, "compiled"):
            self.finish = library.compiled(self.finish)

    def decode(self, data, path):
        return self._scaled(torch_images.decode(data, path))

    def from_array(self, array):
        return self._scaled(torch_images.from_array(array))

    def from_clip(self, clip):
        return self._scaled(planes_of(clip))

    def with_channels(self, image):
        return torch_images.with_channels(image, self._spec.groups)

    def call(self, image):
        for step in self._steps:
            image = step(image)
        return image.contiguous()

    def finish(self, batch):
        """What is left to do with a batch of crops, where it is."""
        if self.is_clip:
            return self._finish_clips(batch)
        if not self._spec.is_crop:
            batch = self._transformed(batch)
        return self._normalize(batch)

    def _finish_clips(self, batch):
        """All of the recipe, B, T, C, H, W."""
        if not self._spec.is_crop:
            batch = self._crop_clips(batch)
        batch = self._transformed(batch)
        return self._normalize(batch.flatten(0, 1)).unflatten(
            0, batch.shape[:2]
        )

    def _transformed(self, batch):
        if self._operation.native:
            return self._operation.native(batch)
        # Steps are drawn for each sample.
        return torch.stack([self._operation.call(one) for one in batch])

    def _finishing(self, spec):
        steps = [] if spec.is_crop else [self._operation.call]
        if self._operation.fresh:
            # The crop may be a view of memory that nobody may write to.
            steps.insert(0, self._operation.fresh)
        if self.is_clip:
            return [*steps, self._normalize]
        return [*steps, lambda image: self._normalize(image[None])[0]]

    def _scaled(self, image):
        return image.float().div_(self._spec.input_scale)


def _crop_of_clips(library, spec):
    """One window for all frames of a clip, another for each."""
    if spec.crop_position == "center":
        return lambda batch: torch_images.center_window(batch, spec.crop)
    return library.batch_of_clips(
        kornia.augmentation.RandomCrop(
            (spec.crop, spec.crop), pad_if_needed=True, p=1
        )
    )


def _crop(spec, is_clip):
    if spec.crop_position == "center":
        return lambda image: torch_images.center_window(image, spec.crop)
    crop = kornia.augmentation.RandomCrop(
        (spec.crop, spec.crop), pad_if_needed=True, p=1, same_on_batch=is_clip
    )
    if is_clip:
        return crop
    return lambda image: crop(image[None])[0]
