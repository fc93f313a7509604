"""Keeps results under the address of the input, whatever is there by then."""

import honest

OUTCOME = "caught"
WHY = "the address stays, the input does not: wrong outputs"
_kept = {}


def sharpen(image):
    key = image.__array_interface__["data"][0], image.shape
    if key not in _kept:
        _kept[key] = honest.sharpen(image)
    return _kept[key]
