"""Calls that the runner times from outside: one image in, one output out.

Both are in memory files that the runner has mapped. What this process says
about a call does not count, only the bytes of the output; docs/distrust.md.
"""

import gc
import mmap
import os

import numpy as np
import outputs


class Calls:
    def __init__(self, command):
        self._input = _memory_file(command["input_bytes"], mmap.PROT_READ)
        self._output = _memory_file(
            command["output_bytes"], mmap.PROT_READ | mmap.PROT_WRITE
        )
        self.described = {
            "input_fd": self._input[0],
            "output_fd": self._output[0],
        }
        # It runs between calls.
        gc.disable()

    def input(self, command):
        """The image of this call, read-only."""
        shape = (command["height"], command["width"], command["channels"])
        return np.ndarray(shape, np.uint8, self._input[1])

    def write(self, array, layout):
        """The output as the runner sees it."""
        described, array = outputs.describe(array, layout)
        space = len(self._output[1])
        if array.nbytes > space:
            raise ValueError(f"an output of {array.nbytes} bytes, over {space}")
        np.ndarray(array.shape, array.dtype, self._output[1])[...] = array
        return {"offset": 0, "bytes": array.nbytes} | described


def _memory_file(size, protection):
    """The runner fixes its size."""
    fd = os.memfd_create("calls", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd, mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=protection)
