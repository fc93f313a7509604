"""Entries of configs/transforms as calls of CV-CUDA, without importing it: it
cannot be imported where there is no driver.

native_op is a function of cvcuda, or several joined by +, applied one after the
other. Parameters are those of the transform; the arguments of the function
depend on the size of the image, so steps are made for each size.
"""

import math
import types
from typing import NamedTuple


class Name(NamedTuple):
    """An attribute of cvcuda, such as Border.CONSTANT."""

    path: str


class Flags(NamedTuple):
    """Attributes of cvcuda whose bits are combined."""

    paths: tuple


class Rectangle(NamedTuple):
    x: int
    y: int
    width: int
    height: int


class Sides(NamedTuple):
    """Height and width of the output; the rest of its shape is that of the
    input."""

    height: int
    width: int


class Matrix(NamedTuple):
    """Rows of numbers."""

    rows: tuple


class Vector(NamedTuple):
    """Numbers, one for each channel."""

    numbers: tuple


class Step(NamedTuple):
    function: str
    arguments: dict


_REFLECT = Name("Border.REFLECT101")
# The matrix says where each pixel of the output is read.
_WARP = {
    "flags": Flags(("Interp.LINEAR", "Interp.WARP_INVERSE_MAP")),
    "border_mode": Name("Border.CONSTANT"),
    # Not every warp has a default.
    "border_value": Vector((0, 0, 0)),
}


def exported(tensor):
    """A tensor of torch for CV-CUDA to wrap. CV-CUDA need not wait for it: both
    work on one stream. Torch does not name a stream that CV-CUDA would
    recognize, so CV-CUDA would wait for the whole device in each call."""
    interface = {**tensor.__cuda_array_interface__, "version": 3, "stream": -1}
    # The tensor comes along, so that its memory stays.
    return types.SimpleNamespace(
        tensor=tensor, __cuda_array_interface__=interface
    )


def make(native_op, params):
    """(height, width) -> steps, for images of one size."""
    makers = [_maker(name, params) for name in native_op.split("+")]
    params.check_all_taken()
    return lambda height, width: [
        step for maker in makers for step in maker(height, width)
    ]


def _maker(name, params):
    if name not in _MAKERS:
        raise LookupError(f"no function {name} of CV-CUDA is known here")
    return _MAKERS[name](params)


def _always(function, **arguments):
    return lambda height, width: [Step(function, arguments)]


def _flip(params):
    code = {"horizontal": 1, "vertical": 0}[params.take_fixed("axis")]
    return _always("flip", flipCode=code)


def _resize(params):
    size = params.take_fixed("size", None)
    if size:
        return lambda height, width: [_resized(Sides(*size))]
    side, which = params.take_fixed("side"), params.take_fixed("which")

    def steps(height, width):
        longest = which == "longest"
        known = max(height, width) if longest else min(height, width)
        scaled = (max(1, length * side // known) for length in (height, width))
        return [_resized(Sides(*scaled))]

    return steps


def _resized(sides):
    return Step("resize", {"shape": sides, "interp": Name("Interp.LINEAR")})


def _crop(params):
    """Centers a smaller image on zeros."""
    high, wide = params.take_fixed("size")
    position = params.take_fixed("position")

    def steps(height, width):
        made = []
        if height < high or width < wide:
            made.append(_padded(max(high - height, 0), max(wide - width, 0)))
        free_y, free_x = max(height - high, 0), max(width - wide, 0)
        centered = position == "center"
        y, x = (free_y // 2, free_x // 2) if centered else position
        rect = Rectangle(min(x, free_x), min(y, free_y), wide, high)
        made.append(Step("customcrop", {"rect": rect}))
        return made

    return steps


def _padded(rows, columns):
    return Step(
        "copymakeborder",
        {
            "border_mode": Name("Border.CONSTANT"),
            "border_value": [0, 0, 0],
            "top": rows // 2,
            "bottom": rows - rows // 2,
            "left": columns // 2,
            "right": columns - columns // 2,
        },
    )


def _pad(params):
    border = params.take_fixed("border")
    return lambda height, width: [_padded(2 * border, 2 * border)]


def _affine(params):
    degrees = params.take_fixed("degrees", 0)
    scale = params.take_fixed("scale", 1)
    shear = params.take_fixed("shear", (0, 0))
    shift = params.take_fixed("shift", (0, 0))

    def steps(height, width):
        rows = inverse_affine(height, width, degrees, scale, shear, shift)
        return [Step("warp_affine", {"xform": Matrix(rows), **_WARP})]

    return steps


def inverse_affine(height, width, degrees, scale, shear, shift):
    """Where each pixel is read when the image is sheared, rotated about its
    center counter-clockwise, scaled, and then moved."""
    angle = math.radians(degrees)
    cos, sin = scale * math.cos(angle), scale * math.sin(angle)
    right = -math.tan(math.radians(shear[0]))
    down = -math.tan(math.radians(shear[1]))
    # Rows count downwards.
    a, b = cos + sin * down, cos * right + sin
    c, d = -sin + cos * down, -sin * right + cos
    det = a * d - b * c
    a, b, c, d = d / det, -b / det, -c / det, a / det
    x, y = (width - 1) / 2, (height - 1) / 2
    from_x, from_y = x + shift[0], y + shift[1]
    return (
        (a, b, x - a * from_x - b * from_y),
        (c, d, y - c * from_x - d * from_y),
    )


def _perspective(params):
    h = (*params.take_fixed("matrix"), 1)
    rows = tuple(tuple(h[i : i + 3]) for i in (0, 3, 6))
    return _always("warp_perspective", xform=Matrix(rows), **_WARP)


def _gaussian(params):
    size, sigma = params.take_fixed("size"), params.take_fixed("sigma")
    return _always(
        "gaussian",
        kernel_size=(size, size),
        sigma=(sigma, sigma),
        border=_REFLECT,
    )


def _box(params):
    size = params.take_fixed("size")
    return _always("averageblur", kernel_size=(size, size), border=_REFLECT)


def _brightness(params):
    return _always(
        "brightness_contrast",
        brightness=float(params.take_fixed("brightness")),
        contrast=1.0,
        brightness_shift=0.0,
        contrast_center=0.0,
    )


def _equalize(params):
    return _always(
        "histogrameq",
        dtype=Name("Type.U8"),
        method=Name("HistogramEq.PILLOW"),
    )


def _one(function, parameter, argument=None, kind=float):
    """A function of one number, or of what else `kind` makes."""
    return lambda params: _always(
        function, **{argument or parameter: kind(params.take_fixed(parameter))}
    )


_MAKERS = {
    "flip": _flip,
    "resize": _resize,
    "customcrop": _crop,
    "copymakeborder": _pad,
    "warp_affine": _affine,
    "warp_perspective": _perspective,
    "gaussian": _gaussian,
    "averageblur": _box,
    "brightness_contrast": _brightness,
    "histogrameq": _equalize,
    "adjust_saturation": _one("adjust_saturation", "saturation"),
    "adjust_hue": _one("adjust_hue", "hue"),
    "adjust_sharpness": _one("adjust_sharpness", "factor", "sharpness_factor"),
    "channelreorder": _one("channelreorder", "order", kind=list),
    "gamma_contrast": _one("gamma_contrast", "gamma"),
    "posterize": _one("posterize", "bits", kind=int),
    "solarize": _one("solarize", "threshold"),
    "autocontrast": lambda params: _always("autocontrast"),
    "invert": lambda params: _always("invert"),
}
