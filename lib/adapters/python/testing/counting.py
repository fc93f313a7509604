"""Frames that show their number, and lists of videos made of them.

counting.webm beside this file has frames 0 to 59, 64x48, VP9, a key frame in
twelve: what DALI decodes on a CPU. PyAV wrote it, as decoders_test.py writes
its videos.
"""

import json
import os
import pathlib

import numpy as np

VIDEO = pathlib.Path(__file__).with_name("counting.webm")
HEIGHT, WIDTH, COUNT = 48, 64, 60
# Pixels of a stripe that its neighbor blurs.
_EDGE = 2


def picture(number, height, width):
    """Eight stripes, black or white: the bits of the number, the highest
    first."""
    bits = [number >> (7 - i) & 1 for i in range(8)]
    row = np.repeat(np.array(bits, np.uint8) * 220 + 20, width // 8)
    return np.broadcast_to(row[None, :, None], (height, width, 3)).copy()


def number_in(frame):
    stripes = frame.mean(axis=(0, 2)).reshape(8, -1)
    means = stripes[:, _EDGE:-_EDGE].mean(axis=1)
    return sum(int(s > 128) << (7 - i) for i, s in enumerate(means))


def list_fd(files):
    """A memory file of (path, numbers of frames), as the runner makes it."""
    fd = os.memfd_create("list", os.MFD_CLOEXEC)
    for path, frames in files:
        line = {"path": str(path), "bytes": 1, "frames": frames}
        os.write(fd, json.dumps(line).encode() + b"\n")
    return fd
