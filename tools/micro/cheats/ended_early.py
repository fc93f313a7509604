"""Ends its process with success after some calls."""

import os

import honest

OUTCOME = "caught"
WHY = "a process that ends during a run has crashed"
_calls = 0


def sharpen(image):
    global _calls
    _calls += 1
    if _calls > 20:
        os._exit(0)
    return honest.sharpen(image)
