"""Crops that Pillow does not have, as the recipes need them. Sizes are (width,
height), as in Pillow."""

import math

from params import generator
from PIL import Image


def center_crop(image, size):
    """The centered window; zeros around a smaller image."""
    image = _padded(image, size)
    return _window(image, size, lambda room: room // 2)


def random_crop(image, size):
    """A window drawn uniformly; zeros around a smaller image."""
    image = _padded(image, size)
    return _window(image, size, lambda room: generator.randint(0, room))


def random_resized_crop(image, size, scale, ratio, tries, resample):
    """A window of a drawn area and aspect ratio, resized. After `tries` windows
    that do not fit, the largest centered one of an allowed aspect ratio."""
    box = _random_box(image.size, scale, ratio, tries)
    return image.crop(box or _fallback_box(image.size, ratio)).resize(
        size, resample
    )


def _random_box(image_size, scale, ratio, tries):
    width, height = image_size
    logs = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(tries):
        area = width * height * generator.uniform(*scale)
        aspect = math.exp(generator.uniform(*logs))
        w = round(math.sqrt(area * aspect))
        h = round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            left = generator.randint(0, width - w)
            top = generator.randint(0, height - h)
            return left, top, left + w, top + h
    return None


def _fallback_box(image_size, ratio):
    width, height = image_size
    w = min(width, round(height * ratio[1]))
    h = min(height, round(width / ratio[0]))
    left, top = (width - w) // 2, (height - h) // 2
    return left, top, left + w, top + h


def _padded(image, size):
    width, height = max(image.width, size[0]), max(image.height, size[1])
    if (width, height) == image.size:
        return image
    padded = Image.new(image.mode, (width, height))
    padded.paste(
        image, ((width - image.width) // 2, (height - image.height) // 2)
    )
    return padded


def _window(image, size, offset):
    left = offset(image.width - size[0])
    top = offset(image.height - size[1])
    return image.crop((left, top, left + size[0], top + size[1]))
