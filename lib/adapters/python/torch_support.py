"""What the libraries on top of torch have in common.

Import this before torch. The server imports it too, so nothing here may run an
operation of torch at import: its threads would start, and every forked child
would hang.
"""

import ctypes
import os
import platform


def _avoid_sve_without_sve():
    """The BLAS in torch's wheel for arm64 (NVPL) trusts the CPU's name. In a
    virtual machine that hides SVE it then waits for ever for vectors of width
    zero; type 1 makes it use what every arm64 CPU has."""
    at_hwcap, hwcap_sve = 16, 1 << 22
    libc = ctypes.CDLL(None)
    libc.getauxval.restype = ctypes.c_ulong
    if not libc.getauxval(ctypes.c_ulong(at_hwcap)) & hwcap_sve:
        os.environ.setdefault("NVPL_BLAS_DEBUG_CPU_TYPE", "1")


if platform.machine() == "aarch64":
    _avoid_sve_without_sve()

import torch  # noqa: E402, after the lines above


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


def seed(value):
    torch.manual_seed(value)


def input_of(array, layout):
    """A tensor on the same bytes. They are read-only: an operation in place
    ends the process."""
    if layout != "CHW":
        raise ValueError(f"needs CHW, not {layout}")
    return torch.from_dlpack(array)


def array_of(output):
    return output.numpy(force=True), "CHW"


def per_three_channels(call):
    """For operations that know RGB only: each group of three by itself."""

    def chunked(image):
        groups = image.split(3, dim=-3)
        return torch.cat([call(group) for group in groups], dim=-3)

    return chunked


def as_tensor(values):
    """tensor([...]) of the parameters."""
    return torch.tensor(values, dtype=torch.float32)
