"""FFCV: the recipe as its list of operations, a decoder first.

Nothing imports FFCV at the top: it starts threads of OpenMP at once, and a
process that was forked after that may not use them.
"""

import numpy as np
from operation import find
from params import Params


class Recipe:
    def __init__(self, library, command, spec):
        if spec.batch_transform or spec.groups != 1:
            raise ValueError("FFCV has crops and flips of RGB images here")
        self.library = library
        self.is_clip = False
        self.starts_with_crop = not spec.is_crop
        self._spec = spec
        self._name = command["native_op"]
        self._arguments = Params(command["params"]).take_rest().fixed

    def operations(self):
        """From files to normalized floats, CHW."""
        from ffcv import transforms
        from ffcv.fields import rgb_image

        spec, size = self._spec, (self._spec.crop, self._spec.crop)
        if self.starts_with_crop:
            operation = find(transforms, self._name)
            first = [
                crop_decoder(spec.crop, spec.crop_position == "random"),
                operation(**self._arguments),
            ]
        else:
            first = [find(rgb_image, self._name)(size, **self._arguments)]
        return [
            *first,
            transforms.NormalizeImage(
                spec.input_scale * np.array(spec.mean),
                spec.input_scale * np.array(spec.std),
                np.float32,
            ),
            transforms.ToTensor(),
            transforms.ToTorchImage(channels_last=False),
        ]


def crop_decoder(size, is_random):
    """A window of the image as it is: FFCV's decoders resize theirs, which
    changes nothing where it has the size of the output."""
    from ffcv.fields.rgb_image import ResizedCropRGBImageDecoder

    def anywhere(height, width, scale, ratio):
        y = int(np.random.uniform(0, height - size + 1))
        x = int(np.random.uniform(0, width - size + 1))
        return y, x, size, size

    def middle(height, width, scale, ratio):
        return (height - size) // 2, (width - size) // 2, size, size

    place = anywhere if is_random else middle

    class Crop(ResizedCropRGBImageDecoder):
        scale = ratio = (1.0, 1.0)
        get_crop_generator = property(lambda self: place)

    return Crop((size, size))
