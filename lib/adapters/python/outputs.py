"""Outputs in a memory file, for the runner to compare."""

import os

import numpy as np


class Writer:
    """add() appends an array; `described` lists the position of each."""

    def __init__(self, fd):
        self._fd = fd
        self._offset = 0
        self.described = []

    def add(self, array, layout):
        described, array = describe(array, layout)
        write_all(self._fd, memoryview(array).cast("B"))
        self.described.append(
            {"offset": self._offset, "bytes": array.nbytes} | described
        )
        self._offset += array.nbytes


def describe(array, layout):
    """Type, layout and shape of an output, and its bytes, contiguous."""
    if array.dtype not in (np.uint8, np.float32):
        raise TypeError(f"the output is {array.dtype}, not uint8 or float32")
    if array.ndim not in (2, 3, 4) or not array.size:
        raise TypeError(
            f"the output has shape {array.shape}, which no image has"
        )
    if array.ndim == 2:
        array, layout = array[:, :, None], "HWC"
    described = {
        "dtype": str(array.dtype),
        "layout": layout,
        "shape": list(array.shape),
    }
    return described, np.ascontiguousarray(array)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
