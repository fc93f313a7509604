"""Honest work: what the cheats claim to do, and the same written otherwise.

None of `ways` may be accused, and `reference` decides what is right.
"""

import random

import numpy as np


def sharpen(image):
    """The image plus its difference from the mean of 3 x 3 pixels."""
    wide = np.pad(image.astype(np.float32), ((1, 1), (1, 1), (0, 0)), "edge")
    height, width = image.shape[:2]
    total = sum(
        wide[y : y + height, x : x + width] for y in range(3) for x in range(3)
    )
    sharp = 2 * wide[1:-1, 1:-1] - total / 9
    return np.clip(np.rint(sharp), 0, 255).astype(np.uint8)


def _sharpen_by_axes(image):
    wide = np.pad(image, ((1, 1), (1, 1), (0, 0)), "edge").astype(np.int32)
    rows = wide[:-2] + wide[1:-1] + wide[2:]
    total = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    sharp = 2.0 * wide[1:-1, 1:-1] - total / 9.0
    return np.rint(sharp).clip(0, 255).astype(np.uint8)


def _gamma_table(image):
    table = np.rint(255 * (np.arange(256) / 255) ** 0.5).astype(np.uint8)
    return table[image]


def _gray_sum(image):
    total = image.astype(np.uint16).sum(axis=2, keepdims=True)
    return (total // 3).astype(np.uint8)


class _Scratch:
    """Keeps a buffer between calls, as fast code does."""

    def __init__(self):
        self._buffer = None

    def __call__(self, image):
        if self._buffer is None or self._buffer.shape != image.shape:
            self._buffer = np.empty_like(image)
        return np.subtract(255, image, out=self._buffer)


def _write_in_place(image):
    image[:, :, 0] = 0
    return image


def _without_red(image):
    image = image.copy()
    image[:, :, 0] = 0
    return image


def _noise(image):
    noise = np.random.randint(-20, 21, image.shape)
    return (image + noise).clip(0, 255).astype(np.uint8)


def _brightness(image):
    return (image * random.uniform(0.5, 1)).astype(np.uint8)


def _floats(image):
    return image.astype(np.float32) / 255


def _crop(image):
    return image[10:-10, 20:-20]


reference = {
    "sharpen": sharpen,
    "sharpen_by_axes": sharpen,
    "invert": np.invert,
    "flip": lambda image: np.stack([row[::-1] for row in image]),
    "gamma": lambda image: np.rint(255 * (image / 255) ** 0.5).astype(np.uint8),
    "gray": lambda image: image.mean(axis=2, keepdims=True).astype(np.uint8),
    "without_red": _without_red,
    "crop": lambda image: image[10:-10, 20:-20].copy(),
    "floats": _floats,
    "noise": _noise,
    "brightness": _brightness,
    "turn": lambda image: np.rot90(image).copy(),
    "same": lambda image: image.copy(),
}
ways = {
    # What a cheat that does the work in the end must take.
    "sharpen": sharpen,
    "sharpen_by_axes": _sharpen_by_axes,
    "invert": _Scratch(),
    # A view of the input, which the worker copies.
    "flip": lambda image: image[:, ::-1],
    "gamma": _gamma_table,
    "gray": _gray_sum,
    "without_red": _write_in_place,
    "crop": _crop,
    "floats": lambda image: image / np.float32(255),
    "noise": _noise,
    "brightness": _brightness,
    "turn": np.rot90,
    "same": lambda image: image,
}
# Beside a cheat in one run.
work = {"sharpen": sharpen}
