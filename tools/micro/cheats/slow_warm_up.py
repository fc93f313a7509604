"""Is slow in the warm-up, so that fewer calls are timed."""

import time

import honest

OUTCOME = "harmless"
WHY = "the number of calls and of checks is the runner's"
_calls = 0


def sharpen(image):
    global _calls
    _calls += 1
    if _calls < 20:
        time.sleep(0.02)
    return honest.sharpen(image)
