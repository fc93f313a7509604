"""DALI's imperative mode: the recipe as calls for a batch."""

import nvidia.dali.experimental.dynamic as ndd
from nvidia.dali import types
from operation import find
from params import Params


class Recipe:
    def __init__(self, library, command, spec):
        if spec.batch_transform or spec.is_crop or spec.groups != 1:
            raise ValueError(
                "DALI's imperative mode has flips of RGB images here"
            )
        self.library = library
        self.is_clip = False
        self._spec = spec
        self._operation = find(ndd, command["native_op"])
        self._arguments = Params(command["params"]).take_rest().fixed

    def call(self, encoded, rng):
        """Normalized floats, CHW, of a batch of encoded images."""
        spec = self._spec
        images = ndd.decoders.image(
            encoded,
            device="cpu",
            output_type=types.RGB,
            adjust_orientation=False,
        )
        x = y = 0.5
        if spec.crop_position == "random":
            x, y = (
                ndd.random.uniform(
                    range=(0.0, 1.0), batch_size=encoded.batch_size, rng=rng
                )
                for _ in range(2)
            )
        images = ndd.crop(
            images,
            crop=(spec.crop, spec.crop),
            crop_pos_x=x,
            crop_pos_y=y,
            rounding="truncate",
            out_of_bounds_policy="pad",
            fill_values=0,
        )
        images = self._operation(images, **self._arguments)
        return ndd.crop_mirror_normalize(
            images,
            dtype=ndd.float32,
            output_layout="CHW",
            mean=[spec.input_scale * mean for mean in spec.mean],
            std=[spec.input_scale * std for std in spec.std],
        )
