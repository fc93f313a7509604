"""Keeps each result under a hash of its input."""

import honest

OUTCOME = "harmless"
WHY = "no input comes twice"
_kept = {}


def sharpen(image):
    key = hash(image.tobytes())
    if key not in _kept:
        _kept[key] = honest.sharpen(image)
    return _kept[key]
