"""Images and tokens that say which item they are, however they are augmented.

An image is a grid with a period of a quarter of its side. Cells of a period:

    black  C0  white  C1
    black  C2  white  C3

Black and white show how the image was normalized. A color has eight levels per
channel. C0 to C3 are digits of the item's number and a check of 12 bits; each
color also says which digit it is, so that no geometry is needed to read them:
crops, flips, rotations and resizing keep them. What cannot be read for sure is
-1. numpy is loaded by what reads, not by what writes.
"""

import struct
import zlib

MOST_ITEMS = 65536
_CHECKS = 3969
DIGITS = 127
POWERS = [1, 127, 127**2, 127**3]
# Black is 40 and white 180 of 255, so that changes of brightness and contrast
# cut nothing off.
LEVELS = range(40, 181, 20)
# Blocks of pixels that are read in each direction: of most images, and of those
# that need more. What is copied from a device is read once.
FEW_POINTS = 11
DEVICE_POINTS = 20
MORE_POINTS = ((32, False), (32, True), (63, False), (63, True))
_RED_FIRST = list(range(1, 509))
_BLUE_FIRST = [c >> 6 | c & 56 | (c & 7) << 6 for c in _RED_FIRST]
# Tokens of an item: the mark, five digits and a check, again and again.
_MARK = 126
_TOKEN_BASE = 64
_FIRST_TOKEN = 48
_TOKEN_DIGITS = 3


def _check(item):
    return zlib.crc32(struct.pack("<I", item)) % _CHECKS


def colors_of(item):
    """Red, green and blue of the four colors of an item."""
    value = item * _CHECKS + _check(item)
    colors = []
    for digit in range(4):
        code = value % DIGITS * 4 + digit + 1
        value //= DIGITS
        colors.append([LEVELS[code >> s & 7] for s in (0, 3, 6)])
    return colors


def rows_of(item, side):
    """The rows of an item's image, each of `side` times red, green and blue."""
    colors = colors_of(item)
    rows = []
    for first in (0, 2):
        row = bytearray()
        for x in range(side):
            cell = x * 16 // side % 4
            row += bytes(
                (
                    [LEVELS[0]] * 3,
                    colors[first],
                    [LEVELS[7]] * 3,
                    colors[first + 1],
                )[cell]
            )
        rows.append(bytes(row))
    return [rows[y * 8 // side % 2] for y in range(side)]


def png_of(item, side):
    """An item's image as a PNG file."""
    raw = b"".join(b"\0" + row for row in rows_of(item, side))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(raw, 6)),
        (b"IEND", b""),
    )
    file = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        file += struct.pack(">I", len(data)) + kind + data
        file += struct.pack(">I", zlib.crc32(kind + data))
    return file


def tokens_of(item, length):
    """`length` tokens of an item; as bytes they are readable text."""
    value = item
    code = [_MARK]
    for _ in range(_TOKEN_DIGITS):
        code.append(_FIRST_TOKEN + value % _TOKEN_BASE)
        value //= _TOKEN_BASE
    check = _check(item)
    code += [_FIRST_TOKEN + check % 64, _FIRST_TOKEN + check // 64]
    return (code * (length // len(code) + 1))[:length]


class Batch:
    """What a batch shows: per image the item, -1 if it cannot be read, and the
    second item of mixed ones (else -1); per image how it was augmented, as
    three numbers of 0 to 255."""

    def __init__(self, items, seconds, draws):
        self.items = items
        self.seconds = seconds
        self.draws = draws


def axes_of(shape):
    """(images, channels, rows, columns) of a shape as places in it. None if
    these are no images."""
    if len(shape) != 4:
        return None
    if shape[1] in (3, 4) and shape[3] > 4:
        axes = (0, 1, 2, 3)
    elif shape[3] in (3, 4):
        axes = (0, 3, 1, 2)
    else:
        return None
    return axes if shape[axes[2]] >= 8 and shape[axes[3]] >= 8 else None


def _line(size, points):
    """Where the blocks of a line begin: evenly, but for a bit, so that no
    period of an image is met at the same place each time."""
    count = min(size - 1, points)
    return [
        int((i + 0.5 + 0.8 * ((i * 0.618034) % 1 - 0.5)) * (size - 1) / count)
        for i in range(count)
    ]


_PLACES = {}


def _places(height, width, points):
    """Of each block of 2 x 2 the first pixel and the last, as numbers in the
    image: all first ones, then all last ones. And the number of columns."""
    found = _PLACES.get((height, width, points))
    if found is None:
        rows, columns = _line(height, points), _line(width, points)
        places = [
            (y + last) * width + x + last
            for last in (0, 1)
            for y in rows
            for x in columns
        ]
        found = _PLACES[height, width, points] = (places, len(columns))
    return found


def sample(images, points=FEW_POINTS):
    """The blocks of a batch of images or of a tensor of torch: (images,
    channels, 2 pixels times blocks), and the number of columns of blocks. None
    if it shows no images."""
    axes = axes_of(images.shape)
    if axes is None:
        return None
    is_torch = hasattr(images, "permute")
    images = images.permute(axes) if is_torch else images.transpose(axes)
    count, channels, height, width = images.shape
    places, columns = _places(height, width, points)
    if is_torch:
        import torch

        at = torch.tensor(places).to(images.device, non_blocking=True)
        blocks = images.reshape(count, channels, height * width)[:, :3, at]
        return blocks, columns
    import numpy as np

    if images.flags.c_contiguous:
        flat = images.reshape(count, channels, height * width)
        return np.take(flat, places, axis=2)[:, :3], columns
    last = images.transpose(0, 2, 3, 1)
    if last.flags.c_contiguous:
        flat = last.reshape(count, height * width, channels)
        return np.take(flat, places, axis=1)[:, :, :3].transpose(
            0, 2, 1
        ), columns
    rows, rest = np.divmod(places, width)
    return images[:, :3, rows, rest], columns


def read_images(blocks, columns, is_last=True, has_fill=False):
    """A Batch of what sample() returns, as an array of numpy. `is_last`: also
    reads mixed images, which needs many blocks. `has_fill`: the darkest color
    is what padding or a rotation has filled in."""
    import numpy as np

    images, channels, count = blocks.shape
    count //= 2
    blocks = blocks.astype(np.float32, copy=False)
    blocks = blocks.reshape(images, channels, 2, count)
    pixel, other = blocks[:, :, 0], blocks[:, :, 1]
    # Black and white are each about a quarter of the image. Others than these
    # are between them, so the ends tell how it was normalized.
    first = np.zeros(images, np.int64)
    if has_fill:
        least = pixel.min(axis=2)
        least = least + 0.03 * (pixel.max(axis=2) - least)
        first = (pixel < least[:, :, None]).all(axis=1).sum(axis=1)
    ordered = np.sort(pixel, axis=2)
    at = (count - first) // 16
    ends = np.take_along_axis(
        ordered, np.stack([first + at, count - 1 - at], axis=1)[:, None], axis=2
    )
    black = ends[:, :, :1]
    scale = ends[:, :, 1:] - black
    scale = 7 / np.where(scale > 1e-6, scale, np.nan)
    with np.errstate(invalid="ignore"):
        values = (pixel - black) * scale
        levels = np.rint(values)
        good = np.abs((pixel - other) * scale) < 0.3
        good &= np.abs(values - levels) < 0.3
        good &= np.abs(levels - 3.5) < 4
        codes = levels[:, 0] + 8 * levels[:, 1] + 64 * levels[:, 2]
    codes = np.where(good.all(axis=1), codes, 512).astype(np.int64)
    at = np.arange(images)[:, None] * 513
    counts = np.bincount((codes + at).ravel(), minlength=images * 513)
    counts = counts.reshape(images, 513)[:, :512]
    items, seconds = _items_of(counts, count, is_last)
    return Batch(items, seconds, _draws_of(codes, columns))


def read(images):
    """A Batch of an array of images. Those that few points do not tell are read
    at many."""
    found = read_images(*sample(images, FEW_POINTS), is_last=False)
    for points, has_fill in MORE_POINTS:
        again = [i for i, item in enumerate(found.items) if item < 0]
        if not again:
            break
        more = read_images(*sample(images[again], points), has_fill=has_fill)
        for at, i in enumerate(again):
            found.items[i] = more.items[at]
            found.seconds[i] = more.seconds[at]
    again = [i for i, item in enumerate(found.items) if item < 0]
    if again:
        import _feedrate_colors

        blocks, _ = sample(images[again], MORE_POINTS[-1][0])
        for at, i in enumerate(again):
            found.items[i], found.seconds[i] = _feedrate_colors.read_colors(
                blocks[at].reshape(3, 2, -1)
            )
    return found


_CHECK_OF = []


def _items_of(counts, points, is_last):
    import numpy as np

    if not _CHECK_OF:
        _CHECK_OF.append(np.array([_check(i) for i in range(MOST_ITEMS)]))
    images = len(counts)
    total = counts.sum(axis=1)
    # Both ends are there, or the normalization is not what was estimated.
    sure = (counts[:, 0] * 16 > total) & (counts[:, 511] * 16 > total)
    sure &= total * 8 > points
    items = np.full(images, -1)
    seconds = np.full(images, -1)
    # Channels may be in the other order.
    for order in (_RED_FIRST, _BLUE_FIRST):
        # (images, digits, digit): how many blocks say so.
        digits = counts[:, order].reshape(images, DIGITS, 4)
        best = digits.argmax(axis=1)
        votes = np.take_along_axis(digits, best[:, None], axis=1)[:, 0]
        rest = digits.sum(axis=1) - votes
        values, checks = np.divmod((best * POWERS).sum(axis=1), _CHECKS)
        right = (values < MOST_ITEMS) & (
            _CHECK_OF[0][np.minimum(values, MOST_ITEMS - 1)] == checks
        )
        seen = (votes > 1).all(axis=1)
        whole = seen & (votes > 7 * rest).all(axis=1)
        clear = seen & (votes > 2 * rest).all(axis=1)
        left = sure & (items < 0)
        for i in np.flatnonzero(left & ~whole).tolist() if is_last else []:
            items[i], seconds[i] = _two_of(digits[i].T)
        found = left & (items < 0) & (clear if is_last else whole) & right
        items[found] = values[found]
        if not (sure & (items < 0)).any():
            break
    return items.tolist(), seconds.tolist()


def checked(value):
    item, check = divmod(value, _CHECKS)
    return item if item < MOST_ITEMS and check == _check(item) else -1


def _two_of(digits):
    """Items of an image that shows two, beside each other. The first has more
    of it. Both must be whole, and no third may be there."""
    first, second = [], []
    for votes in digits:
        best = votes.argsort()[::-1][:3]
        # One digit may be that of both.
        if votes[best[1]] < 2 or votes[best[1]] < 2 * votes[best[2]]:
            best[1] = best[0]
        first.append(int(best[0]))
        second.append(int(best[1]))
    found = set()
    for choice in range(16):
        value = sum(
            (second if choice >> k & 1 else first)[k] * DIGITS**k
            for k in range(4)
        )
        item = checked(value)
        if item >= 0:
            found.add((item, choice))
    # The same item by two choices has equal digits there.
    items = {}
    for item, choice in found:
        items.setdefault(item, choice)
    if len(items) == 2:
        (a, of_a), (b, of_b) = sorted(items.items(), key=lambda i: i[1])
        different = [k for k in range(4) if first[k] != second[k]]
        if all((of_a ^ of_b) >> k & 1 for k in different):
            return a, b
    return -1, -1


def _draws_of(codes, columns):
    """Where black and white are, from left to right, and how much is black."""
    import numpy as np

    images, count = codes.shape
    x = np.tile(np.arange(columns, dtype=np.float32), count // columns)
    draws = np.empty((images, 3), np.float32)
    for k, code in enumerate((0, 511)):
        mask = (codes == code).astype(np.float32)
        number = mask.sum(axis=1)
        draws[:, k] = mask @ x / np.maximum(number, 1) / max(columns - 1, 1)
        if code == 0:
            draws[:, 2] = number / count
    return np.rint(draws * 255).astype(int).tolist()


def read_tokens(rows):
    """A Batch of lists of tokens. Packed rows show several items, of which
    each whole code names one; a row's items count once each."""
    items, seconds = [], []
    for row in rows:
        found = []
        at = 0
        row = list(row)
        while at + 6 <= len(row):
            if row[at] != _MARK:
                at += 1
                continue
            code = [t - _FIRST_TOKEN for t in row[at + 1 : at + 6]]
            at += 1
            if min(code) < 0 or max(code) >= _TOKEN_BASE:
                continue
            item = code[0] + code[1] * 64 + code[2] * 4096
            if code[3] + code[4] * 64 != _check(item):
                continue
            if item not in found:
                found.append(item)
        items += found or [-1]
        seconds += [-1] * max(len(found), 1)
    return Batch(items, seconds, [])
