"""Videos to decode, and helpers that decoders share."""

import json
import os
import re


def frames_of(spec):
    """Number of frames in a clip by the job's scenario, such as video-16f; 0
    for images."""
    found = re.fullmatch(r"video-(\d+)f", spec.get("scenario", ""))
    return int(found[1]) if found else 0


def read_list(fd):
    """(path, frames) of the JSON lines in a memory file, in their order."""
    size = os.fstat(fd).st_size
    lines = os.pread(fd, size, 0).decode().splitlines()
    files = [json.loads(line) for line in lines if line]
    if not files:
        raise ValueError("the list of videos is empty")
    return [(file["path"], file["frames"]) for file in files]


def pick(frames, numbers):
    """The frames with these numbers, in order, from an iterator over all
    frames. Frames are passed as functions, so that only the wanted ones are
    converted."""
    picked, wanted = [], iter(numbers)
    number = next(wanted, None)
    for at, frame in enumerate(frames):
        if at == number:
            array = frame()
            while at == number:
                picked.append(array)
                number = next(wanted, None)
        if number is None:
            return picked
    raise ValueError(f"frame {number} is missing; the video has {at + 1}")
