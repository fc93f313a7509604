"""torchvision: uint8 CHW tensors.

native_op is a class of transforms.v2, or a path such as functional.rotate to a
function there, which is called with the image first.
"""

import inspect

import torch
import torchvision
from library_support import steps, torch_support
from library_support.torch_support import (  # noqa: F401
    array_of,
    device_of,
    input_of,
    threads,
    use_threads,
)
from operation import Operation, find
from params import Params
from torchvision.transforms import InterpolationMode, v2

_WRAPS = {
    "": lambda call: call,
    "per 3-channel chunk, concat": torch_support.per_three_channels,
}


def _normalize(params):
    return v2.Compose(
        [
            v2.ConvertImageDtype(getattr(torch, params.take("dtype"))),
            v2.Normalize(params.take("mean"), params.take("std")),
        ]
    )


def _jpeg_of_clip(params):
    """It accepts only bytes, and clips are floats: both conversions are
    timed."""
    return v2.Compose(
        [
            v2.ToDtype(torch.uint8, scale=True),
            v2.JPEG(quality=params.take("quality")),
        ]
    )


_COMPOSED = {
    "Compose(ConvertImageDtype,Normalize)": _normalize,
    "Compose(ToDtype,JPEG)": _jpeg_of_clip,
}


def version():
    return torchvision.__version__.partition("+")[0]


def make(spec):
    if spec["native_op"] == steps.NATIVE_OP:
        return steps.make(spec, make)
    params = Params(
        spec["params"], _resolve, {"tensor": torch_support.as_tensor}
    )
    if spec["native_op"] in _COMPOSED:
        call = _COMPOSED[spec["native_op"]](params)
        params.check_all_taken()
        return Operation(
            lambda clip: call(clip).contiguous(), torch_support.seed
        )
    arguments = params.take_rest()
    target = find(v2, spec["native_op"])
    if inspect.isclass(target):
        if arguments.drawn:
            raise ValueError("the library draws for itself; give it ranges")
        call = target(**arguments.fixed)
    else:
        call = arguments.bind(target)
    if spec.get("wrap", "") not in _WRAPS:
        raise ValueError(f"wrap {spec['wrap']!r} is not known here")
    call = _WRAPS[spec.get("wrap", "")](call)
    return Operation(lambda image: call(image).contiguous(), torch_support.seed)


def _resolve(parameter, name):
    if parameter == "interpolation":
        return InterpolationMode[name]
    raise LookupError(name)
