"""Counts its calls in an environment variable, and stops working later."""

import os

import honest

OUTCOME = "caught"
WHY = "the calls that are checked are among all timed ones"
_NAME = "CALLS_SO_FAR"


def sharpen(image):
    calls = int(os.environ.get(_NAME, "0"))
    os.environ[_NAME] = str(calls + 1)
    return honest.sharpen(image) if calls < 10 else image
