"""AlbumentationsX: uint8 HWC arrays; native_op is a class of the package."""

import sys

import albumentations
import clips
import cv2
import numpy as np
from library_support import steps
from operation import Operation, find
from params import Params

# Names in parameters that are OpenCV's; any other is a plain string.
_OPENCV_PREFIXES = ("INTER_", "BORDER_")


def version():
    return albumentations.__version__


def use_threads(policy):
    if policy.get("opencv_threads") is not None:
        cv2.setNumThreads(policy["opencv_threads"])
    if not policy.get("opencv_opencl", False):
        cv2.ocl.setUseOpenCL(False)
    if torch := _torch_support():
        torch.use_threads(policy)


def threads():
    torch = _torch_support()
    return max(cv2.getNumThreads(), torch.threads() if torch else 1)


def input_of(array, layout):
    if layout != "HWC":
        raise ValueError(f"needs HWC, not {layout}")
    return array


def make(spec):
    if spec.get("wrap"):
        raise ValueError(f"wrap {spec['wrap']!r} is not known here")
    transform = _transform_of(spec)
    contiguous = np.ascontiguousarray

    def call(image):
        return contiguous(transform(image=image)["image"])

    def call_on_clip(clip):
        # One draw of parameters for all frames.
        return contiguous(transform(images=clip)["images"])

    if clips.frames_of(spec):
        call = call_on_clip

    torch = _torch_support()

    def seed(value):
        transform.set_random_seed(value % 2**32)
        if torch:
            torch.seed(value)

    return Operation(call, seed, native=transform)


def _transform_of(spec):
    if spec["native_op"] == steps.NATIVE_OP:
        return _sequence(steps.parse(spec["params"]))
    arguments = Params(spec["params"], _resolve).take_rest()
    if arguments.drawn:
        raise ValueError("the library draws for itself; give it ranges")
    return find(albumentations, spec["native_op"])(**arguments.fixed)


def _sequence(parsed):
    """Steps as objects of the library, so that the library draws them."""
    return albumentations.Sequential(
        [
            albumentations.OneOf([_transform_of(one) for one in some], p=p)
            for p, some in parsed
        ],
        p=1,
    )


def array_of(output):
    return output, "THWC" if output.ndim == 4 else "HWC"


def _torch_support():
    """None without torch. The package imports it from 2.5 on; loaders do."""
    if "torch" not in sys.modules:
        return None
    from library_support import torch_support

    return torch_support


def _resolve(_, name):
    if name.startswith(_OPENCV_PREFIXES):
        return find(cv2, name)
    raise LookupError(name)
