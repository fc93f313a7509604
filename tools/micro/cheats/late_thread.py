"""Returns an empty output, which a thread fills when the call is over."""

import threading

import honest
import numpy as np

OUTCOME = "caught"
WHY = "what is not there when the clock stops is a wrong output"


def sharpen(image):
    output = np.zeros_like(image)
    copy = image.copy()

    def fill():
        output[...] = honest.sharpen(copy)

    threading.Thread(target=fill).start()
    return output
