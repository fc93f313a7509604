"""Replaces the reference's code in its own process by something easy."""

import honest
import numpy as np

OUTCOME = "caught"
WHY = "the reference runs in another process"

honest.sharpen = np.zeros_like
honest.reference["sharpen"] = np.zeros_like


def sharpen(image):
    return honest.reference["sharpen"](image)
