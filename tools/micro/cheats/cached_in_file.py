"""Writes the first results into files and reads them ever after."""

import pathlib
import tempfile

import honest
import numpy as np

OUTCOME = "caught"
WHY = "results of other inputs are wrong outputs"
_folder = pathlib.Path(tempfile.mkdtemp())
_calls = 0


def sharpen(image):
    global _calls
    path = _folder / f"{_calls % 4}.npy"
    _calls += 1
    if not path.exists():
        np.save(path, honest.sharpen(image))
    return np.load(path)
