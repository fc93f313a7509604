"""Videos whose frames show their numbers, for tests of feedrate.Clips."""

import functools
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

import cases  # Puts feedrate on the path.
import feedrate
import numpy as np

# In a bundle, or in a checkout.
WRITER = cases.ROOT / "bin/write_videos"
if not WRITER.exists():
    WRITER = cases.ROOT / "bazel-bin/lib/media/video/write_videos"
HEIGHT, WIDTH = 240, 320
_SQUARE = WIDTH // 20


@functools.cache
def videos(container="avi", count=6):
    """A folder of videos, of 150 to 200 frames each."""
    folder = tempfile.TemporaryDirectory(prefix="clips_")
    # For as long as the process lives.
    videos.folders = [*getattr(videos, "folders", []), folder]
    subprocess.run(
        [
            WRITER,
            f"--folder={folder.name}",
            f"--n={count}",
            f"--container={container}",
        ],
        check=True,
        capture_output=True,
    )
    return pathlib.Path(folder.name)


def paths(container="avi", count=6):
    return sorted(videos(container, count).glob(f"*.{container}"))


def write_classes(folder, container="avi"):
    """A folder for each of two classes, with three videos each."""
    for i, path in enumerate(paths(container)):
        place = folder / ("jump", "run")[i % 2] / f"{i}.{container}"
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, place)
    return folder


def numbers(frames):
    """What whole frames (T, 3, H, W) of uint8 show: lib/media/video/clips.h."""
    middle = _SQUARE // 2
    row = np.asarray(frames)[:, 1, middle - 4 : middle + 4].astype(int)
    squares = row.reshape(len(row), 8, 20, _SQUARE)[..., 4:-4].mean((1, 3))
    bits = (squares > 128).astype(int)
    assert (bits[:, [0, 19]] == 1).all() and (bits[:, [1, 18]] == 0).all()
    return [int("".join(map(str, one)), 2) for one in bits[:, 2:14]]


def interval(ratios, seed=1):
    """Of the median, by drawing the rounds again."""
    chance = random.Random(seed)
    medians = sorted(
        statistics.median(chance.choices(ratios, k=len(ratios)))
        for _ in range(2000)
    )
    return medians[50], medians[1949]


class Case(cases.Case):
    def clips(self, source, **arguments):
        """Whole frames as numpy arrays of bytes, in small batches, unless told
        otherwise."""
        given = {
            "batch_size": 2,
            "frames": 4,
            "crop": (HEIGHT, WIDTH),
            "dtype": "uint8",
            "output": "numpy",
            "workers": 2,
            "return_index": True,
            **arguments,
        }
        clips = feedrate.Clips(source, **given)
        self.addCleanup(clips.close)
        return clips

    def shown(self, clips):
        """Of an epoch: the numbers of the frames, by clip."""
        return {
            int(index): numbers(frames)
            for batch in clips
            for frames, index in zip(batch[0], batch[2], strict=True)
        }
