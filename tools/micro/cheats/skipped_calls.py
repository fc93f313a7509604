"""Leaves out one call in four, at random."""

import random

import honest

OUTCOME = "caught"
WHY = "a random part of the timed calls is checked"
_source = random.SystemRandom()


def sharpen(image):
    return image if _source.random() < 0.25 else honest.sharpen(image)
