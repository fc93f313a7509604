"""The shared part of libraries on top of torch.

The server imports this too, so nothing here may run an operation of torch at
import: its threads would start, and every forked child would hang.
"""

import torch


def use_threads(policy):
    if policy.get("torch_intra_op"):
        torch.set_num_threads(policy["torch_intra_op"])
    if policy.get("torch_inter_op"):
        try:
            torch.set_num_interop_threads(policy["torch_inter_op"])
        except RuntimeError:
            # Only the first call counts, and a second prepare repeats it.
            if torch.get_num_interop_threads() != policy["torch_inter_op"]:
                raise


def threads():
    return torch.get_num_threads()


def device_of(name):
    """The object that times the device of that name."""
    if name != "cuda":
        raise ValueError(f"no device {name!r} in this worker")
    # Not at the top: the server imports this file, and must stay off CUDA.
    from devices.torch_device import CudaDevice

    return CudaDevice()


def seed(value):
    torch.manual_seed(value)


def input_of(array, layout):
    """A tensor on the same bytes. They are read-only: an in-place operation
    ends the process."""
    if layout != "CHW":
        raise ValueError(f"needs CHW, not {layout}")
    return torch.from_dlpack(array)


def array_of(output):
    if output.dtype == torch.float16:
        output = output.float()
    return output.numpy(force=True), "TCHW" if output.ndim == 4 else "CHW"


def per_three_channels(call):
    """For operations that only support RGB: each group of three channels by
    itself."""

    def chunked(image):
        groups = image.split(3, dim=-3)
        return torch.cat([call(group) for group in groups], dim=-3)

    return chunked


def as_tensor(values):
    """tensor([...]) of the parameters."""
    return torch.tensor(values, dtype=torch.float32)
