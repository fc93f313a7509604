"""DALI: the recipe as a part of a graph."""

import clips
import numpy as np
from library_support import steps
from nvidia.dali import fn, math, types
from operation import find
from params import Params


class Recipe:
    def __init__(self, library, command, spec):
        if spec.batch_transform and clips.frames_of(command) > 0:
            raise ValueError(f"DALI has no {spec.batch_transform} of clips")
        self.library = library
        self.is_clip = clips.frames_of(command) > 0
        self._command = command
        self._spec = spec
        # A graph of files may decode no more than the fixed crop needs.
        self.starts_with_crop = not spec.is_crop
        # What is done to an image is drawn: the graph branches.
        self.branches = command["native_op"] == steps.NATIVE_OP

    def from_clip(self, clip):
        raise NotImplementedError("the graph decodes clips itself")

    def call(self, images, cropped):
        """Nodes of normalized CHW floats from nodes of uint8 HWC; of clips all
        frames together, F before the rest."""
        if self.starts_with_crop and not cropped:
            images = fn.crop(
                images,
                **self.crop_arguments(),
                out_of_bounds_policy="pad",
                fill_values=0,
            )
        mixing = self._spec.batch_transform
        if mixing == "cutmix":
            images = _cutmix(images, self._alpha(), self._spec.crop)
        elif not mixing:
            images = self.transformed(images)
        batch = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="FCHW" if self.is_clip else "CHW",
            mean=[self._spec.input_scale * m for m in self._spec.mean],
            std=[self._spec.input_scale * s for s in self._spec.std],
        )
        return _mixup(batch, self._alpha()) if mixing == "mixup" else batch

    def _alpha(self):
        return Params(self._command["params"]).take_rest().fixed["alpha"]

    def crop_arguments(self):
        """For fn.crop and for the decoder that crops."""
        x = y = 0.5
        if self._spec.crop_position == "random":
            x, y = uniform(0, 1), uniform(0, 1)
        return {
            "crop": (self._spec.crop, self._spec.crop),
            "crop_pos_x": x,
            "crop_pos_y": y,
            "rounding": "truncate",
        }

    def transformed(self, images):
        if not self.branches:
            return self._one(self._command, images)
        for probability, alternatives in steps.parse(self._command["params"]):
            if probability < 1:
                chosen = fn.random.coin_flip(
                    probability=probability, dtype=types.BOOL
                )
                if chosen:
                    images = self._any(alternatives, images)
            else:
                images = self._any(alternatives, images)
        return images

    def _any(self, alternatives, images):
        """One of them, drawn evenly for each image."""
        numbers = list(range(len(alternatives)))
        drawn = fn.random.uniform(values=numbers, dtype=types.INT32)
        return self._number(drawn, numbers, alternatives, images)

    def _number(self, drawn, numbers, alternatives, images):
        first, *rest = numbers
        if rest:
            if drawn == first:
                images = self._one(alternatives[first], images)
            else:
                images = self._number(drawn, rest, alternatives, images)
        else:
            images = self._one(alternatives[first], images)
        return images

    def _one(self, command, images):
        # Read while the graph is made: U(a,b) becomes a node of it.
        params = Params(
            command["params"], _resolve, {"U": uniform, "pair": pair}
        )
        # Those of clips are written with their module.
        name = command["native_op"].removeprefix("fn.")
        if name == "crop_mirror_normalize":
            return _normalized(images, params)
        if name == "transforms.combine+warp_affine":
            return _warp(images, params, self._spec.crop)
        if name == "solarize":
            return _solarized(images, params.take_fixed("threshold"))
        return find(fn, name)(images, **params.take_rest().fixed)


def _solarized(images, threshold):
    """DALI has no operator for it; its own AutoAugment computes it so too."""
    inverted = (images >= threshold) * (255 - images)
    return fn.cast(inverted + (images < threshold) * images, dtype=types.UINT8)


def _partners(images):
    return fn.permute_batch(images, indices=fn.batch_permutation())


def _mixup(batch, alpha):
    """Each image blended with another one of the batch."""
    share = fn.random.beta(alpha=alpha, beta=alpha)
    return batch * share + _partners(batch) * (1 - share)


def _cutmix(images, alpha, size):
    """A box of another image of the batch in each."""
    share = fn.random.beta(alpha=alpha, beta=alpha)
    half = math.sqrt(1 - share) * (size / 2)

    def side():
        middle = fn.random.uniform(range=(0, size))
        ends = [
            fn.cast(math.clamp(end, 0, size), dtype=types.INT32)
            for end in (middle - half, middle + half)
        ]
        return ends[0], ends[1] - ends[0]

    (top, height), (left, width) = side(), side()
    anchors = fn.stack(_pair(0), fn.stack(top, left))
    return fn.multi_paste(
        images,
        _partners(images),
        in_anchors=anchors,
        out_anchors=anchors,
        shapes=fn.stack(_pair(size), fn.stack(height, width)),
        output_size=(size, size),
    )


def _pair(value):
    return types.Constant(np.full(2, value, np.int32))


def _normalized(images, params):
    """255*(a,b,c) of the parameters is a tuple repeated 255 times."""
    scaled = {
        name: [len(values) // 3 * value for value in values[:3]]
        for name in ("mean", "std")
        for values in [params.take(name)]
    }
    # As it came: the normalization of the recipe follows.
    return fn.crop_mirror_normalize(
        images, output_layout="FHWC", **scaled, **params.take_rest().fixed
    )


def uniform(low, high):
    return fn.random.uniform(range=(low, high))


def pair(low, high):
    """Two numbers, drawn each for itself."""
    return fn.random.uniform(range=(low, high), shape=2)


def _warp(images, params, size):
    """Scaled, sheared and turned counter-clockwise about the middle, then
    moved. DALI counts from the corner of the first pixel, and its angles go
    the other way, as y points down."""
    center = (size / 2, size / 2)
    matrix = fn.transforms.scale(
        scale=[params.take_fixed("scale", 1.0)] * 2, center=center
    )
    shear = [-angle for angle in params.take_fixed("shear", (0, 0))]
    matrix = fn.transforms.shear(matrix, angles=shear, center=center)
    angle = params.take("rotate", 0.0)
    matrix = fn.transforms.rotation(matrix, angle=-angle, center=center)
    matrix = fn.transforms.translation(
        matrix, offset=params.take_fixed("translate_px", (0, 0))
    )
    arguments = params.take_rest().fixed
    return fn.warp_affine(images, matrix, inverse_map=False, **arguments)


def _resolve(parameter, name):
    if parameter == "dtype" or name.startswith("INTERP_"):
        return find(types, name)
    raise LookupError(name)
