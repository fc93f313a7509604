"""Reads which items the pictures of a batch show, whatever loader made it.

lib/media/item_ids.h describes the colors; `--dataset=synthetic:ids` has the
files. Works on anything that numpy can read: NCHW or NHWC, uint8 or float, and
clips of them: NTCHW, NTHWC or NCTHW. All frames of a clip must show its id.

    for batch in loader:
        ids, unreadable = reader.read(batch)
"""

import numpy as np

ITEM_IDS = 4096
_STEP = 8
_TOLERANCE = 3.5
_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
# Mean, standard deviation and scale that loaders normalize by.
_PIXELS = ((0, 0, 0), (1, 1, 1), 1)
_FORMS = (
    (*_IMAGENET, 255),
    ((0, 0, 0), (1, 1, 1), 255),
    ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 255),
    _PIXELS,
)


class Reader:
    """Finds out by the first batch how the loader normalizes."""

    def __init__(self):
        self._form = None

    def read(self, batch):
        """The ids of a batch's items in order, without those of items that
        show none, and the number of these."""
        batch = np.asarray(batch)
        frames = 1
        if batch.ndim == 5:
            if batch.shape[1] == 3 and batch.shape[2] != 3:
                batch = np.moveaxis(batch, 1, 2)
            frames = batch.shape[1]
            batch = batch.reshape(-1, *batch.shape[2:])
        colors = _colors_of(batch)
        if np.issubdtype(batch.dtype, np.integer):
            self._form = _PIXELS
        if self._form is None:
            found = [_decode(colors, form) for form in _FORMS]
            best = max(range(len(found)), key=lambda i: (found[i] >= 0).sum())
            if (found[best] >= 0).any():
                self._form = _FORMS[best]
            ids = found[best]
        else:
            ids = _decode(colors, self._form)
        ids = ids.reshape(-1, frames)
        ids = np.where((ids == ids[:, :1]).all(axis=1), ids[:, 0], -1)
        readable = ids[ids >= 0]
        return readable.tolist(), len(ids) - len(readable)


def color_of(item):
    """Red, green and blue of an item's picture."""
    code = item | _check(item) << 12
    return [_STEP * (code >> shift & 31) + _STEP // 2 for shift in (0, 5, 10)]


def _check(item):
    return (item ^ item >> 3 ^ item >> 6 ^ item >> 9) & 7


def _colors_of(batch):
    """(items, 3): the middle of five points around the center."""
    if batch.ndim != 4:
        raise ValueError(
            f"a batch has 4 dimensions, of clips 5, not {batch.ndim}"
        )
    if batch.shape[3] in (3, 9) and batch.shape[1] not in (3, 9):
        batch = batch.transpose(0, 3, 1, 2)
    _, _, height, width = batch.shape
    y, x, dy, dx = height // 2, width // 2, height // 8, width // 8
    rows = [y, y - dy, y + dy, y, y]
    columns = [x, x, x, x - dx, x + dx]
    points = batch[:, :3, rows, columns].astype(np.float64)
    return np.median(points, axis=2)


def _decode(colors, form):
    """Ids, -1 for colors that show none."""
    mean, std, scale = form
    values = (colors * std + mean) * scale
    levels = np.floor(values / _STEP)
    with np.errstate(invalid="ignore"):
        good = (values >= 0) & (values < 256)
        good &= np.abs(values - _STEP * levels - _STEP // 2) <= _TOLERANCE
    levels = np.where(good, levels, 0).astype(np.int64)
    codes = levels[:, 0] | levels[:, 1] << 5 | levels[:, 2] << 10
    ids = codes & (ITEM_IDS - 1)
    return np.where(good.all(axis=1) & (codes >> 12 == _check(ids)), ids, -1)
