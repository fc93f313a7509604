"""Pillow: PIL images in, arrays out.

native_op names what a user would write, after PIL's modules:
  Image.rotate           image.rotate(**params)
  ImageOps.expand        ImageOps.expand(image, **params)
  ImageFilter.BoxBlur    image.filter(ImageFilter.BoxBlur(**params))
  ImageEnhance.Color     ImageEnhance.Color(image).enhance(factor)
  A+B                    one after the other, each with the params it takes
Turning the output into a contiguous array is part of the timed call.
"""

import inspect
import io
import math

import numpy as np
import PIL
from library_support import pillow_crops, steps
from operation import Operation, find
from params import Bound, Drawn, Params
from PIL import Image, ImageChops, ImageEnhance, ImageFilter, ImageOps

_MODULES = {
    "Image": Image.Image,
    "ImageChops": ImageChops,
    "ImageEnhance": ImageEnhance,
    "ImageFilter": ImageFilter,
    "ImageOps": ImageOps,
}
# Imports the common formats, which else the first image does.
Image.preinit()
_ENUMS = [Image.Resampling, Image.Transpose, Image.Transform]


def version():
    return PIL.__version__


def use_threads(policy):
    """Pillow has no threads to set."""


def threads():
    return 1


def input_of(array, layout):
    if layout != "HWC" or array.dtype != np.uint8:
        raise ValueError(f"needs uint8 HWC, not {array.dtype} {layout}")
    if array.ndim != 3 or array.shape[2] not in (1, 3):
        raise ValueError(f"no PIL image has the shape {array.shape}")
    return Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)


def make(spec):
    if spec.get("wrap"):
        raise ValueError(f"wrap {spec['wrap']!r} is not known here")
    if spec["native_op"] == steps.NATIVE_OP:
        return _as_operation(
            steps.make(spec, make, lambda operation: operation.native).call
        )
    params = Params(spec["params"], _resolve)
    if spec["native_op"] == "Image.save+Image.open":
        parts = [_through_file(params)]
    elif spec["native_op"] == "Image.crop+Image.resize" and "ratio" in params:
        parts = [_random_resized_crop(params)]
    elif spec["native_op"] == "Image.crop" and "size" in params:
        parts = [_crop(params)]
    else:
        parts = [_step(part, params) for part in spec["native_op"].split("+")]
    params.check_all_taken()
    return _as_operation(_chain(parts))


def array_of(output):
    return output, "HWC"


def _as_operation(native):
    contiguous = np.ascontiguousarray
    return Operation(lambda image: contiguous(native(image)), native=native)


def _chain(parts):
    """The parts of native_op as one function from image to image."""
    if len(parts) == 1:
        return parts[0]

    def call(image):
        for part in parts:
            image = part(image)
        return image

    return call


def _step(path, params):
    """One part of native_op, as a function of the image alone."""
    module, _, name = path.partition(".")
    if module not in _MODULES or not name:
        raise LookupError(f"{path}: no module {module} of PIL is known here")
    function = find(_MODULES[module], name)
    if module == "ImageFilter":
        return _filter(function, params)
    if module == "ImageEnhance":
        return _enhance(function, params)
    if module == "Image" and name == "transform":
        return _transform(params)
    return _accepted(function, params).bind(function)


def _accepted(function, params):
    """Removes and returns the parameters that function accepts."""
    names = inspect.signature(function).parameters
    mine = {n: params.take(n) for n in params.names() if n in names}
    return Bound(mine)


def _filter(kernel, params):
    if not _takes_arguments(kernel):
        params.expect("kernel", "fixed")
        return lambda image: image.filter(kernel)
    arguments = _accepted(kernel, params)
    if not arguments.drawn:
        fixed = arguments.fixed
        return lambda image: image.filter(kernel(**fixed))
    return lambda image: image.filter(kernel(**arguments()))


def _takes_arguments(kernel):
    return len(inspect.signature(kernel).parameters) > 0


def _enhance(enhancer, params):
    factor = params.take("factor")
    if isinstance(factor, Drawn):
        return lambda image: enhancer(image).enhance(factor.draw())
    return lambda image: enhancer(image).enhance(factor)


def _transform(params):
    """Image.transform; size=input keeps the size, and the coefficients are
    given as they are (data, coeffs) or by what they do."""
    params.expect("random", "none")
    coefficients = _coefficients(params)
    size = params.take_fixed("size")
    method = params.take_fixed("method")
    arguments = _accepted(Image.Image.transform, params).fixed
    if size == "input":
        return lambda image: image.transform(
            image.size, method, coefficients, **arguments
        )
    return lambda image: image.transform(
        size, method, coefficients, **arguments
    )


def _coefficients(params):
    for name in ("data", "coeffs"):
        if name in params:
            return params.take_fixed(name)
    return _inverse_affine(
        math.radians(params.take_fixed("angle")),
        params.take_fixed("shift_px"),
        params.take_fixed("scale"),
        math.tan(math.radians(params.take_fixed("shear_x_deg"))),
    )


def _inverse_affine(angle, shift, scale, shear):
    """PIL needs the source of each output pixel: the inverse of scaling,
    shearing, rotating counter-clockwise about the corner, then shifting."""
    cos, sin = math.cos(angle), math.sin(angle)
    # Turn * shear * scale, y pointing down.
    a, b = scale * cos, scale * (shear * cos + sin)
    d, e = -scale * sin, scale * (cos - shear * sin)
    determinant = a * e - b * d
    a, b, d, e = (
        e / determinant,
        -b / determinant,
        -d / determinant,
        a / determinant,
    )
    x, y = shift
    return (a, b, -a * x - b * y, d, e, -d * x - e * y)


def _crop(params):
    """A window of a given size, centered or drawn; Pillow itself only knows
    boxes."""
    params.expect("zero_pad_centered_if_smaller", True)
    size = params.take_fixed("size")
    crops = {
        "center": pillow_crops.center_crop,
        "uniform": pillow_crops.random_crop,
    }
    crop = crops[params.take_fixed("position", "center")]
    return lambda image: crop(image, size)


def _random_resized_crop(params):
    params.expect("fallback", "center")
    arguments = params.take_rest().fixed
    return lambda image: pillow_crops.random_resized_crop(image, **arguments)


def _through_file(params):
    """Writes the image to memory and reads it back."""
    params.expect("buffer", "memory")
    params.expect("copy", True)
    arguments = params.take_rest()

    def step(image):
        buffer = io.BytesIO()
        image.save(buffer, **arguments())
        buffer.seek(0)
        # The copy reads the pixels before the buffer goes.
        return Image.open(buffer).copy()

    return step


def _resolve(_, name):
    for enum in _ENUMS:
        if name in enum.__members__:
            return enum[name]
    raise LookupError(name)
