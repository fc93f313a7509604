"""Loader jobs for tests: lists of files, prepare commands, a reference."""

import json
import os

import numpy as np

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
# Transforms that take the place of the fixed crop.
CROPS = {"RandomCrop224", "RandomResizedCrop", "CenterCrop224"}
# Height and width of a recipe's output where they are not the crop's.
SIZES = {
    "Resize": (512, 512),
    "LongestMaxSize": (512, 512),
    "SmallestMaxSize": (512, 512),
    "Pad": (244, 244),
}


def loader_object(**changes):
    """The object `loader` of a prepare command, for the memory scope."""
    return {
        "scope": "memory_dataloader_augment",
        "source": "corpus",
        "batch_size": 4,
        "workers": 2,
        "prefetch": 2,
        "persistent": False,
        "pin_memory": False,
        "drop_last": False,
        "shuffle": False,
        "channels": 3,
        "crop": 224,
        "is_crop": False,
        "crop_position": "random",
        "mean": MEAN,
        "std": STD,
        "input_scale": 255,
        "batch_transform": "",
        "on_error": "skip",
        "ablation": "",
    } | changes


def of_files(**changes):
    return loader_object(
        **{"scope": "decode_dataloader_augment", "source": "files"} | changes
    )


def of_cell(cell, channels, **changes):
    """The prepare command of a cell's recipe."""
    is_crop = cell.transform in CROPS
    loader = {
        "channels": channels,
        "is_crop": is_crop,
        "batch_transform": cell.batch_transform,
    } | changes
    return cell.prepare() | {"loader": loader_object(**loader)}


def write_list(paths):
    """A memory file of JSON lines, as the runner makes it."""
    fd = os.memfd_create("files", os.MFD_CLOEXEC)
    for path in map(os.fspath, paths):
        size = os.path.getsize(path) if os.path.exists(path) else 0
        line = json.dumps({"path": path, "bytes": size}) + "\n"
        os.write(fd, line.encode())
    return fd


def epoch(count, **changes):
    return {
        "op": "epoch",
        "seed": 7,
        "first": 0,
        "count": count,
        "limit_s": 600,
        "consumer_s": 0.0,
    } | changes


def flipped_center(image, size=224):
    """The deterministic recipe on a uint8 HWC array: the middle, zeros around
    a smaller image, mirrored, normalized, float32 CHW."""
    height, width, channels = image.shape
    tall, wide = max(height, size), max(width, size)
    whole = np.zeros((tall, wide, channels), np.uint8)
    top, left = (tall - height) // 2, (wide - width) // 2
    whole[top : top + height, left : left + width] = image
    top, left = (tall - size) // 2, (wide - size) // 2
    window = whole[top : top + size, left : left + size][:, ::-1]
    groups = channels // 3
    mean = np.array(MEAN * groups, np.float64)
    std = np.array(STD * groups, np.float64)
    return ((window / 255 - mean) / std).transpose(2, 0, 1).astype(np.float32)
