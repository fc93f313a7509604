"""What a worker process sets up before it imports or measures anything."""

import contextlib
import ctypes
import os
import platform
import signal
import sys

# glibc adapts up to 32 MiB.
_BLOCK_BYTES = 31 << 20
_AT_HWCAP = 16
_HWCAP_SVE = 1 << 22
_PR_SET_PDEATHSIG = 1


def settle_malloc():
    """Puts malloc into the state that long-running programs reach.

    glibc gives freed memory back to the kernel at once, until the program has
    freed a larger block: then it keeps blocks of that size. Before, a call may
    pay for having its output faulted in anew each time, and whether it does
    depends on everything that the process did earlier. Pillow's flip of a
    photograph takes 0.6 ms with 316 page faults, or 0.2 ms with none. Forked
    children inherit the state.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(libc.malloc(_BLOCK_BYTES))


def avoid_hidden_sve():
    """Keeps the BLAS in torch's wheels for arm64 from hanging.

    Must be called before torch is imported. NVPL trusts the CPU's name. In a
    virtual machine that hides SVE it still uses SVE, and then waits forever on
    vectors of width zero; type 1 of its variable makes it use what every arm64
    CPU has. Where SVE is available, nothing is changed.
    """
    if platform.machine() != "aarch64":
        return
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype = ctypes.c_ulong
    if not getauxval(ctypes.c_ulong(_AT_HWCAP)) & _HWCAP_SVE:
        os.environ.setdefault("NVPL_BLAS_DEBUG_CPU_TYPE", "1")


@contextlib.contextmanager
def only_our_modules():
    """Imports inside find modules of this folder and of the standard library:
    those of a user may have the same names."""
    import numpy  # noqa: F401, which is wherever the user has it.

    everything = sys.path[:]
    sys.path[:] = [
        path
        for path in everything
        if path == everything[0]
        or (path.startswith(sys.base_prefix) and "-packages" not in path)
    ]
    try:
        yield
    finally:
        sys.path[:] = everything


def die_with_parent(parent):
    """SIGKILL for this process as soon as `parent`, which forked it, ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # It died before the line above.
        os._exit(1)
