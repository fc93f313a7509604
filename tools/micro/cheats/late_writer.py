"""Answers at once; a thread writes to the memory of the output afterwards."""

import contextlib
import gc
import threading

import honest
import numpy as np

OUTCOME = "caught"
WHY = "the output is copied before the clock stops"


def _output_file():
    for one in gc.get_objects():
        if type(one).__name__ == "Calls":
            return one._output[1]
    return bytearray()


def _write(image):
    done = honest.sharpen(image)
    with contextlib.suppress(TypeError, ValueError):
        np.ndarray(done.shape, done.dtype, _output_file())[...] = done


def sharpen(image):
    threading.Thread(target=_write, args=(image.copy(),)).start()
    return np.zeros_like(image)
