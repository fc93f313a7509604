"""Collects 15 inputs, works on them together, and returns 14 times nothing."""

import honest
import numpy as np

OUTCOME = "caught"
WHY = "each call owes its output before there is a next input"
_waiting = []


def sharpen(image):
    _waiting.append(image.copy())
    if len(_waiting) < 15:
        return np.zeros_like(image)
    done = [honest.sharpen(one) for one in _waiting]
    _waiting.clear()
    return done[-1]
