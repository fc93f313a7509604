"""Kornia: float32 CHW tensors from 0 to 1.

native_op is a class of kornia.augmentation, or a path under kornia such as
enhance.adjust_gamma: a function is called with the image first, a class is
made once. The batch dimension of one that Kornia wants is added and removed
inside the timed call. On a GPU a batch of images of one size is one call;
parameters are drawn for each image, on the CPU as Kornia does by itself. A clip
is a batch of frames with one draw; a batch of clips goes through Kornia's own
container for video, with a draw for each clip.
"""

import functools
import inspect

import clips
import kornia
import torch
import torch.onnx  # Else imported by the first resize, in 60 ms.
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

# They write into their input, which is read-only shared memory here.
_OVERWRITE_THEIR_INPUT = {"RandomGaussianIllumination"}
# They add what they drew to the image without moving it to its device.
_DRAW_ON_THE_DEVICE = {"RandomGaussianIllumination"}


def version():
    return kornia.__version__


def make(spec):
    if spec["native_op"] == steps.NATIVE_OP:
        return steps.make(spec, make)
    params = Params(
        spec["params"], functions={"tensor": torch_support.as_tensor}
    )
    wrap = _find_wrap(spec.get("wrap", ""), params)
    arguments = params.take_rest()
    augmentation = "." not in spec["native_op"]
    module = kornia.augmentation if augmentation else kornia
    target = find(module, spec["native_op"])
    # Ranges of an augmentation are as they are; elsewhere a tensor holds one
    # value for each image of the batch.
    frames = clips.frames_of(spec)
    batch = (
        (lambda value: value)
        if augmentation
        else (lambda value: [value] * (frames or 1))
    )
    # Clips in memory are of half precision, and so must be what meets them.
    half = frames and not augmentation and "loader" not in spec
    dtype = torch.float16 if half else None
    device = spec.get("device", "cpu") if "loader" not in spec else "cpu"
    arguments.fixed = _with_tensors(
        target, arguments.fixed, batch, dtype, device
    )
    if inspect.isclass(target):
        if arguments.drawn:
            raise ValueError("the library draws for itself; give it ranges")
        call = target(**arguments.fixed)
        if spec.get("device", "cpu") != "cpu":
            call = _ready(call, device, augmentation)
    else:
        call = arguments.bind(target)
    native = call = wrap(call)
    if frames:
        native = _on_clips(spec, target, arguments, wrap)
    elif inspect.isclass(target) and not augmentation:
        native = wrap(_of_batches(target, arguments.fixed))
    overwrites = spec["native_op"] in _OVERWRITE_THEIR_INPUT
    # A clip is a batch already; its parameters say same_on_batch.
    return Operation(
        (lambda clip: call(clip).contiguous())
        if frames
        else (lambda image: call(image[None])[0].contiguous()),
        torch_support.seed,
        fresh=torch.clone if overwrites else None,
        native=native,
    )


def _of_batches(target, fixed):
    """A call on B, C, H, W, where tensors hold one value per image."""

    @functools.cache
    def made(size, device):
        return target(
            **{
                name: value.to(device).expand(size, *value.shape[1:])
                if torch.is_tensor(value)
                else value
                for name, value in fixed.items()
            }
        )

    return lambda batch: made(len(batch), batch.device)(batch)


def _on_clips(spec, target, arguments, wrap):
    """A call on a batch of clips, or None when clips are processed one by one,
    as on the CPU."""
    if spec.get("device", "cpu") == "cpu" or "." in spec["native_op"]:
        return None
    return wrap(_of_clips(target, arguments, spec["device"]))


def _of_clips(augmentation, arguments, device):
    """A call on B, T, C, H, W: one draw per clip, the same for all its
    frames."""
    fixed = dict(arguments.fixed)
    if "same_on_batch" in fixed:
        fixed["same_on_batch"] = False
    return batch_of_clips(_ready(augmentation(**fixed), device, True))


def batch_of_clips(augmentation):
    """Kornia's container for B, T, C, H, W, without what it keeps for
    display."""
    return quiet(
        kornia.augmentation.VideoSequential(
            quiet(augmentation), data_format="BTCHW", same_on_frame=True
        )
    )


def _ready(module, device, augmentation):
    """On a GPU nothing of a call leaves it. `device` is where the module is
    made: a loader's is moved by what it draws for."""
    quiet(module)
    # An augmentation moves what it draws by itself; told to draw on the device,
    # some of them mix tensors of both.
    if type(module).__name__ in _DRAW_ON_THE_DEVICE:
        module.set_rng_device_and_dtype(torch.device(device), torch.float32)
    return module if augmentation else module.to(device)


def quiet(module):
    """Otherwise each output is also copied to the host, for show() and
    save()."""
    if hasattr(type(module), "disable_features"):
        module.disable_features = True
    return module


def _with_tensors(target, arguments, batch, dtype=None, device="cpu"):
    """Arguments that must be tensors are plain numbers in the parameters."""
    declared = inspect.signature(target).parameters
    return {
        name: torch.tensor(batch(value), dtype=dtype, device=device)
        if name in declared and _only_tensor(declared[name], value)
        else value
        for name, value in arguments.items()
    }


def _only_tensor(parameter, value):
    annotation = str(parameter.annotation)
    takes_numbers = any(t in annotation for t in ("float", "int", "Tuple"))
    plain = isinstance(value, int | float | tuple | list)
    return plain and "Tensor" in annotation and not takes_numbers


def _find_wrap(text, params):
    wraps = {
        "": lambda: lambda call: call,
        "per 3-channel chunk, concat": lambda: torch_support.per_three_channels,
        "zero-pad to the crop size, then crop": lambda: _pad_to_crop(
            params.get("size")
        ),
        "zero-pad to a multiple of the grid, jigsaw, crop back": lambda: (
            _pad_to_grid(params.get("grid"))
        ),
    }
    if text not in wraps:
        raise ValueError(f"wrap {text!r} is not known here")
    return wraps[text]()


def _pad_to_crop(size):
    """Kornia's crop fails on an image that is smaller than it."""
    crop_height, crop_width = size

    def wrap(call):
        def padded(image):
            height, width = image.shape[-2:]
            down, right = (
                max(crop_height - height, 0),
                max(crop_width - width, 0),
            )
            if down or right:
                sides = (
                    *(right // 2, right - right // 2),
                    *(down // 2, down - down // 2),
                )
                image = torch.nn.functional.pad(image, sides)
            return call(image)

        return padded

    return wrap


def _pad_to_grid(grid):
    """Kornia's jigsaw needs tiles of equal size."""
    rows, columns = grid

    def wrap(call):
        def padded(image):
            height, width = image.shape[-2:]
            sides = (0, -width % columns, 0, -height % rows)
            image = torch.nn.functional.pad(image, sides)
            return call(image)[..., :height, :width]

        return padded

    return wrap
