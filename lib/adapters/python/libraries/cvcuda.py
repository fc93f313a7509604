"""CV-CUDA: uint8 HWC on a GPU, held by torch; cvcuda_steps.py says how its
functions are called.

Inputs are wrapped for CV-CUDA when they come to the device. A batch of images
of one size is one call of each function, on torch's stream. The package itself
is imported in a job's own process: it loads the driver.
"""

import functools
import importlib.metadata
import math

import numpy as np
import torch
from library_support import cvcuda_steps
from library_support.torch_support import threads, use_threads  # noqa: F401
from operation import Operation
from params import Params

_PACKAGE = "cvcuda-cu13"


def version():
    return importlib.metadata.version(_PACKAGE)


def device_of(name):
    """The object that times the device of that name."""
    if name != "cuda":
        raise ValueError(f"CV-CUDA runs on cuda, not on {name}")
    # Not at the top: the server imports this file, and must stay off CUDA.
    from devices.torch_device import CudaDevice

    return _Device(CudaDevice())


class _Held:
    """Images on the device, for both libraries."""

    def __init__(self, tensor):
        import cvcuda

        self.tensor = tensor
        layout = "NHWC" if tensor.ndim == 4 else "HWC"
        self.wrapped = cvcuda.as_tensor(cvcuda_steps.exported(tensor), layout)
        self.nbytes = tensor.nbytes


class _Made:
    """An output, whose size is read only on request."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def nbytes(self):
        return math.prod(self.tensor.shape)


class _Device:
    """Torch's device, whose tensors CV-CUDA knows."""

    def __init__(self, device):
        self._device = device

    def place(self, tensor):
        return _Held(self._device.place(tensor))

    def stack(self, images):
        return _Held(self._device.stack([image.tensor for image in images]))

    def __getattr__(self, name):
        return getattr(self._device, name)


def input_of(array, layout):
    if layout != "HWC":
        raise ValueError(f"needs HWC, not {layout}")
    return torch.from_dlpack(array)


def array_of(output):
    tensor = torch.as_tensor(output.tensor.cuda(), device="cuda")
    return tensor.numpy(force=True), "HWC"


def make(spec):
    if spec.get("device") != "cuda":
        raise ValueError("CV-CUDA runs on cuda alone")
    if spec.get("wrap", ""):
        raise ValueError(f"wrap {spec['wrap']!r} is not known here")
    steps = cvcuda_steps.make(spec["native_op"], Params(spec["params"]))
    call = _call_of(steps)
    return Operation(call, native=call)


def _call_of(steps):
    import cvcuda

    stream = cvcuda.as_stream(torch.cuda.current_stream().cuda_stream)

    @functools.cache
    def bound(shape):
        """The functions, ready for inputs of that shape."""
        calls = []
        for step in steps(*shape[-3:-1]):
            arguments = {
                name: _resolve(cvcuda, value, shape)
                for name, value in step.arguments.items()
            }
            function = getattr(cvcuda, step.function)
            calls.append(
                functools.partial(function, stream=stream, **arguments)
            )
        return calls

    def call(held):
        image = held.wrapped
        for function in bound(tuple(held.tensor.shape)):
            image = function(image)
        return _Made(image)

    return call


def _resolve(module, value, shape):
    """The argument of CV-CUDA for a value of cvcuda_steps."""
    if isinstance(value, cvcuda_steps.Name):
        return _find(module, value.path)
    if isinstance(value, cvcuda_steps.Flags):
        return functools.reduce(
            lambda bits, path: bits | int(_find(module, path)), value.paths, 0
        )
    if isinstance(value, cvcuda_steps.Rectangle):
        return module.RectI(*value)
    if isinstance(value, cvcuda_steps.Sides):
        return (*shape[:-3], value.height, value.width, shape[-1])
    if isinstance(value, (cvcuda_steps.Matrix, cvcuda_steps.Vector)):
        return np.array(value[0], np.float32)
    return value


def _find(module, path):
    return functools.reduce(getattr, path.split("."), module)
