"""Makes its input black, for which a black output would be right."""

import numpy as np

OUTCOME = "caught"
WHY = "the reference gets its own copy of the input"


def sharpen(image):
    image[...] = 0
    return np.zeros_like(image)
