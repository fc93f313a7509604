"""Returns the same gray image for every input."""

import numpy as np

OUTCOME = "caught"
WHY = "wrong outputs"


def sharpen(image):
    return np.full_like(image, 127)
