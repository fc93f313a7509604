"""Puts all work off until the process ends."""

import atexit

import honest
import numpy as np

OUTCOME = "caught"
WHY = "an output is due before the next input exists"


def sharpen(image):
    output = np.zeros_like(image)
    atexit.register(lambda: np.copyto(output, honest.sharpen(image)))
    return output
