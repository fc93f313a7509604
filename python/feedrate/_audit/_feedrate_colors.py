"""Reads images whose colors were changed: by Mixup, hue or saturation. Some
milliseconds each, so _feedrate_codes.py tries what is cheaper first."""

import itertools

import _feedrate_codes as codes
import numpy as np

# Shares of the first image of a mixed one.
_SHARES = np.arange(0.5, 0.985, 0.004)
# Changes of hue, of a whole turn, and of saturation.
_TURNS = np.arange(-0.5, 0.5, 1 / 180)
_SATURATIONS = 2.0 ** np.arange(-2, 1.01, 0.05)
_LUMA = np.array([0.299, 0.587, 0.114])
_GRAY = 0.3
# Of channels: red, green and blue may be the other way round.
_ORDERS = ([0, 1, 2], [2, 1, 0])


def read_colors(blocks):
    """(item, second item) of an image; -1 for what is not sure. `blocks` are
    (channels, 2 pixels, blocks)."""
    every, counts = _clusters(blocks.astype(np.float64))
    if len(every) < 4:
        return -1, -1
    gray = (every.max(axis=1) < _GRAY) | (every.min(axis=1) > 7 - _GRAY)
    colors, votes = every[~gray], counts[~gray]
    for channels in _ORDERS if len(colors) >= 4 else ():
        ordered = colors[:, channels]
        item = _turned(ordered, votes)
        if item >= 0:
            return item, -1
        pair = _overlaid(ordered, votes)
        if pair is None:
            pair = _mixed(ordered, votes)
        if pair is not None:
            return pair if pair[0] != pair[1] else (pair[0], -1)
    return _saturated(every, counts), -1


def _clusters(blocks):
    """The colors that many blocks have, and how many have each. The darkest
    and the brightest values are taken for black, 0, and white, 7."""
    low, high = blocks.min(axis=1), blocks.max(axis=1)
    count = low.shape[1]
    black = np.sort(low, axis=1)[:, count // 64, None]
    white = np.sort(high, axis=1)[:, count - 1 - count // 64, None]
    scale = 7 / np.maximum(white - black, 1e-9)
    even = ((high - low) * scale < 0.12).all(axis=0)
    values = (((low + high) / 2 - black) * scale)[:, even].T
    colors, votes = [], []
    left = np.ones(len(values), bool)
    for _ in range(48):
        rest = values[left]
        if len(rest) < 6:
            break
        keys = np.rint(rest * 6).astype(np.int64) @ [1, 64, 4096]
        names, counts = np.unique(keys, return_counts=True)
        middle = rest[keys == names[counts.argmax()]].mean(axis=0)
        near = (np.abs(values - middle) < 0.2).all(axis=1) & left
        if near.sum() < 6:
            break
        left &= ~near
        colors.append(values[near].mean(axis=0))
        votes.append(int(near.sum()))
    return np.array(colors).reshape(-1, 3), np.array(votes)


def _saturated(every, counts):
    """The item of an image whose saturation grew so much that colors are
    darker than black or brighter than white in a channel, else -1. Black and
    white have twice as many blocks as a color."""
    order = counts.argsort()[::-1]
    ends = every[order[:2]]
    rest = order[2:]
    if len(rest) < 4:
        return -1
    black, white = ends[ends.sum(axis=1).argsort()]
    if (white - black).min() <= 0:
        return -1
    colors = (every[rest] - black) * 7 / (white - black)
    for channels in _ORDERS:
        item = _turned(colors[:, channels], counts[rest])
        if item >= 0:
            return item
    return -1


def _codes(levels, tolerance):
    """Codes of colors (..., 3), 0 for those that are none."""
    whole = np.rint(levels)
    good = (np.abs(levels - whole) < tolerance).all(axis=-1)
    good &= (whole >= 0).all(axis=-1) & (whole <= 7).all(axis=-1)
    found = np.where(good, whole @ np.array([1, 8, 64]), 0).astype(np.int64)
    return np.where(found <= 508, found, 0)


def _item_of(found):
    """The item of four codes of all digits, else -1."""
    digits = sorted((code - 1) % 4 for code in found)
    if digits != [0, 1, 2, 3]:
        return -1
    value = sum(
        (code - 1) // 4 * codes.POWERS[(code - 1) % 4] for code in found
    )
    return codes.checked(value)


def _turned(colors, votes):
    """The item whose hue and saturation were changed."""
    four = votes.argsort()[::-1][:4]
    if votes[four].sum() < 0.8 * votes.sum():
        return -1
    items = set()
    for hue_first in (True, False):
        tried = colors[four][None, None]
        if hue_first:
            tried = _with_hue(_with_saturation(tried))
        else:
            tried = _with_saturation(_with_hue(tried))
        found = _codes(tried.reshape(-1, 4, 3), 0.22)
        for row in found[(found > 0).all(axis=1)]:
            items.add(_item_of(row.tolist()))
    items.discard(-1)
    return items.pop() if len(items) == 1 else -1


def _with_saturation(colors):
    """The colors before each change of saturation, along the first axis."""
    gray = (colors @ _LUMA)[..., None]
    shape = (-1, *[1] * (colors.ndim - 1))
    return gray + (colors - gray) / _SATURATIONS.reshape(shape)


def _with_hue(colors):
    """The colors before each change of hue, along the second axis."""
    least, most = colors.min(axis=-1), colors.max(axis=-1)
    span = np.maximum(most - least, 1e-9)
    r, g, b = ((colors[..., i] - least) / span for i in range(3))
    hue = np.where(
        r >= np.maximum(g, b), g - b, np.where(g >= b, 2 + b - r, 4 + r - g)
    )
    hue = hue - 6 * _TURNS[:, None]
    parts = [
        np.clip(np.abs((hue + shift) % 6 - 3) - 1, 0, 1) for shift in (0, 4, 2)
    ]
    return least[..., None] + span[..., None] * np.stack(parts, axis=-1)


def _overlaid(colors, votes):
    """Both items of two images that lie on each other at any place: what is
    black or white of one shows the colors of the other."""
    pairs = set()
    for share in _SHARES:
        plain = np.array([[0.0] * 3, [7.0] * 3])
        shares = share, 1 - share
        items = [_under(colors, votes, own, plain) for own in shares]
        for one, other in ((0, 1), (1, 0)):
            if items[one] < 0 and items[other] >= 0:
                known = np.concatenate([plain, _levels_of(items[other])])
                items[one] = _under(colors, votes, shares[one], known)
        if min(items) >= 0:
            pairs.add(tuple(items))
    return pairs.pop() if len(pairs) == 1 else None


def _levels_of(item):
    low, high = codes.LEVELS[0], codes.LEVELS[7]
    return (np.array(codes.colors_of(item)) - low) * 7 / (high - low)


def _under(colors, votes, own, others):
    """The item whose share is `own` where the other image has a color of
    `others`, else -1."""
    levels = (colors - others[:, None] * (1 - own)) / own
    found = _codes(levels, min(0.3, 0.06 / own))
    count = np.bincount(
        found.ravel(), np.tile(votes, len(others)), minlength=509
    )
    count = count[1:509].reshape(codes.DIGITS, 4)
    best = count.argmax(axis=0)
    ordered = np.sort(count, axis=0)
    if (ordered[-1] < 1.3 * ordered[-2] + 1).any():
        return -1
    return codes.checked(int((best * codes.POWERS).sum()))


def _mixed(colors, votes):
    """Both items of two images of which each digit lies on the same digit."""
    four = votes.argsort()[::-1][:4]
    if votes[four].sum() < 0.8 * votes.sum():
        return None
    levels = np.arange(8)
    first, second = (m.ravel() for m in np.meshgrid(levels, levels))
    pairs = set()
    sums = _SHARES[:, None] * first + (1 - _SHARES)[:, None] * second
    # (share, color, channel, pair of levels).
    fits = np.abs(sums[:, None, None] - colors[four][None, ..., None]) < 0.07
    for at in np.flatnonzero(fits.any(axis=3).all(axis=(1, 2))):
        options = []
        for color in range(4):
            both = []
            for places in itertools.product(
                *(np.flatnonzero(fits[at, color, c]) for c in range(3))
            ):
                a, b = (
                    int(sum(of[p] << 3 * c for c, p in enumerate(places)))
                    for of in (first, second)
                )
                if 0 < a <= 508 and 0 < b <= 508 and (a - b) % 4 == 0:
                    both.append((a, b))
            options.append(both)
        if np.prod([len(both) for both in options]) > 5000:
            continue
        for choice in itertools.product(*options):
            items = tuple(_item_of(of) for of in zip(*choice, strict=True))
            if min(items) >= 0:
                pairs.add(items)
    return pairs.pop() if len(pairs) == 1 else None
