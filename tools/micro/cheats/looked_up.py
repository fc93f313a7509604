"""Knows the results of all images of the data set from its set-up."""

import gc

import honest
import numpy as np

OUTCOME = "caught"
WHY = "no input is an image of the data set"
_known = []


def _prepare():
    for one in gc.get_objects():
        if type(one).__name__ == "Corpus":
            for i in range(len(one)):
                image = one.item(i)
                _known.append((image.mean(), honest.sharpen(image)))


def sharpen(image):
    if not _known:
        _prepare()
    if not _known:
        return honest.sharpen(image)
    mean = image[::8, ::8].mean()
    found = min(_known, key=lambda known: abs(known[0] - mean))[1]
    return np.resize(found, image.shape)
