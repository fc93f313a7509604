"""Files as torch tensors, and windows of them: what torch's libraries share."""

import io

import numpy as np
import PIL.Image
import torch
from torchvision.io import ImageReadMode, decode_image


def decode(data, path):
    """uint8 CHW, RGB. torchvision reads JPEG, PNG and WebP itself."""
    if path.lower().endswith(".bmp"):
        with PIL.Image.open(io.BytesIO(data)) as image:
            return from_array(np.asarray(image.convert("RGB")))
    # A bytearray can be written to, or torch warns.
    encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return decode_image(encoded, mode=ImageReadMode.RGB)


def from_array(array):
    return torch.from_numpy(array.copy()).permute(2, 0, 1).contiguous()


def with_channels(image, groups):
    if groups == 1 or image.shape[0] == 3 * groups:
        return image
    return torch.cat([image] * groups)


def center_window(image, size):
    """The middle, rounded up and to the left; zeros where the image ends."""
    height, width = image.shape[-2:]
    down, right = max(size - height, 0), max(size - width, 0)
    if down or right:
        left, top = right // 2, down // 2
        image = torch.nn.functional.pad(
            image, (left, right - left, top, down - top)
        )
        height, width = image.shape[-2:]
    top, left = (height - size) // 2, (width - size) // 2
    return image[..., top : top + size, left : left + size]
