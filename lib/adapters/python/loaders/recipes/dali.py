"""DALI: the recipe as a part of a graph."""

import clips
from nvidia.dali import fn, types
from operation import find
from params import Params


class Recipe:
    def __init__(self, library, command, spec):
        if spec.batch_transform:
            raise ValueError(f"DALI has no {spec.batch_transform} here")
        self.library = library
        self.is_clip = clips.frames_of(command) > 0
        self._command = command
        self._spec = spec
        # A graph of files may decode no more than the fixed crop needs.
        self.starts_with_crop = not spec.is_crop

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
        images = self._transformed(images)
        return fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="FCHW" if self.is_clip else "CHW",
            mean=[self._spec.input_scale * m for m in self._spec.mean],
            std=[self._spec.input_scale * s for s in self._spec.std],
        )

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

    def _transformed(self, images):
        # Read while the graph is made: U(a,b) becomes a node of it.
        params = Params(
            self._command["params"], _resolve, {"U": uniform, "pair": pair}
        )
        # Those of clips are written with their module.
        name = self._command["native_op"].removeprefix("fn.")
        if name == "crop_mirror_normalize":
            return _normalised(images, params)
        if name == "transforms.combine+warp_affine":
            return _warp(images, params, self._spec.crop)
        return find(fn, name)(images, **params.take_rest().fixed)


def _normalised(images, params):
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
