"""AlbumentationsX: uint8 HWC arrays; native_op is a class of the package."""

import albumentations
import cv2
import numpy as np
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


def threads():
    return cv2.getNumThreads()


def input_of(array, layout):
    if layout not in ("HWC",):
        raise ValueError(f"needs HWC, not {layout}")
    return array


def make(spec):
    params = Params(spec["params"], _resolve)
    if spec.get("wrap"):
        raise ValueError(f"wrap {spec['wrap']!r} is not known here")
    arguments = params.take_rest()
    if arguments.drawn:
        raise ValueError("the library draws for itself; give it ranges")
    transform = find(albumentations, spec["native_op"])(**arguments.fixed)
    contiguous = np.ascontiguousarray

    def call(image):
        return contiguous(transform(image=image)["image"])

    return Operation(
        call, lambda value: transform.set_random_seed(value % 2**32)
    )


def array_of(output):
    return output, "HWC"


def _resolve(_, name):
    if name.startswith(_OPENCV_PREFIXES):
        return find(cv2, name)
    raise LookupError(name)
