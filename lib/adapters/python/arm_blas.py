"""Keeps the BLAS in torch's wheels for arm64 from hanging.

NVPL trusts the CPU's name. In a virtual machine that hides SVE it still counts
on it, and then waits for ever on vectors of width zero; type 1 of its variable
makes it use what every arm64 CPU has. Where SVE is, nothing is changed.
"""

import ctypes
import os
import platform

_AT_HWCAP = 16
_HWCAP_SVE = 1 << 22


def avoid_hidden_sve():
    """To be called before torch is imported."""
    if platform.machine() != "aarch64":
        return
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype = ctypes.c_ulong
    if not getauxval(ctypes.c_ulong(_AT_HWCAP)) & _HWCAP_SVE:
        os.environ.setdefault("NVPL_BLAS_DEBUG_CPU_TYPE", "1")
