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
_DIGITS = 127
# Blocks of pixels that are read in each direction: of most images, and of those
# that need more.
FEW_POINTS = 16
MANY_POINTS = 63
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
        code = value % _DIGITS * 4 + digit + 1
        value //= _DIGITS
        colors.append([(code >> s & 7) * 255 // 7 for s in (0, 3, 6)])
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
                    [0, 0, 0],
                    colors[first],
                    [255, 255, 255],
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


def points_of(shape, points):
    """(order of axes, rows, columns) of what is read of images of a shape: the
    first pixels of blocks of 2 x 2, then the second ones. None if these are no
    images."""
    if len(shape) != 4:
        return None
    if shape[1] in (3, 4) and shape[3] > 4:
        axes, height, width = (0, 1, 2, 3), shape[2], shape[3]
    elif shape[3] in (3, 4):
        axes, height, width = (0, 3, 1, 2), shape[1], shape[2]
    else:
        return None
    if height < 8 or width < 8:
        return None

    def line(size):
        count = min(size - 1, points)
        firsts = [(2 * i + 1) * (size - 1) // (2 * count) for i in range(count)]
        return firsts + [first + 1 for first in firsts]

    return axes, line(height), line(width)


def sample(images, points=FEW_POINTS):
    """The blocks of a batch of images or of a tensor of torch: (images,
    channels, 2, rows, 2, columns). None if it shows no images."""
    found = points_of(images.shape, points)
    if found is None:
        return None
    axes, rows, columns = found
    images = (
        images.permute if hasattr(images, "permute") else images.transpose
    )(axes)
    return images[:, :3][:, :, rows][:, :, :, columns]


def read_images(blocks):
    """A Batch of what sample() returns, as an array of numpy."""
    import numpy as np

    images, channels, rows, columns = blocks.shape
    blocks = blocks.astype(np.float32).reshape(
        images, channels, 2, rows // 2, 2, columns // 2
    )
    four = [blocks[:, :, y, :, x] for y in (0, 1) for x in (0, 1)]
    low = np.minimum(np.minimum(four[0], four[1]), np.minimum(four[2], four[3]))
    high = np.maximum(
        np.maximum(four[0], four[1]), np.maximum(four[2], four[3])
    )
    count = rows * columns // 4
    low = low.reshape(images, channels, count)
    high = high.reshape(images, channels, count)
    # Black and white are each about a quarter of the image. Others than these
    # are between them, so the ends tell how it was normalized.
    at = count // 16
    ends = np.partition(low, (at, count - 1 - at), axis=2)
    black = ends[:, :, at, None]
    scale = ends[:, :, count - 1 - at, None] - black
    scale = 7 / np.where(scale > 1e-6, scale, np.nan)
    with np.errstate(invalid="ignore"):
        good = (high - low) * scale < 0.3
        values = ((low + high) * 0.5 - black) * scale
        levels = np.rint(values)
        good &= np.abs(values - levels) < 0.3
        good &= (levels > -0.5) & (levels < 7.5)
        codes = levels[:, 0] + 8 * levels[:, 1] + 64 * levels[:, 2]
    codes = np.where(good.all(axis=1), codes, 512).astype(np.int64)
    codes += np.arange(images)[:, None] * 513
    counts = np.bincount(codes.ravel(), minlength=images * 513)
    counts = counts.reshape(images, 513)[:, :512]
    codes -= np.arange(images)[:, None] * 513
    items, seconds = _items_of(counts, count)
    return Batch(items, seconds, _draws_of(codes, columns // 2))


def read(images):
    """A Batch of an array of images. Those that few points do not tell are read
    at many."""
    found = read_images(sample(images, FEW_POINTS))
    again = [i for i, item in enumerate(found.items) if item < 0]
    if again:
        more = read_images(sample(images[again], MANY_POINTS))
        for at, i in enumerate(again):
            found.items[i] = more.items[at]
            found.seconds[i] = more.seconds[at]
    return found


def _items_of(counts, points):
    import numpy as np

    images = len(counts)
    total = counts.sum(axis=1)
    # Both ends are there, or the normalization is not what was estimated.
    sure = (counts[:, 0] * 16 > total) & (counts[:, 511] * 16 > total)
    sure &= total * 8 > points
    items = [-1] * images
    seconds = [-1] * images
    # Channels may be in the other order.
    for order in (_RED_FIRST, _BLUE_FIRST):
        # (images, digits, digit): how many blocks say so.
        digits = counts[:, order].reshape(images, _DIGITS, 4)
        best = digits.argmax(axis=1)
        votes = np.take_along_axis(digits, best[:, None], axis=1)[:, 0]
        rest = digits.sum(axis=1) - votes
        whole = (votes > 7 * rest).all(axis=1) & (votes > 1).all(axis=1)
        clear = (votes > 2 * rest).all(axis=1) & (votes > 1).all(axis=1)
        values = (best * _DIGITS ** np.arange(4)).sum(axis=1).tolist()
        for i in np.flatnonzero(sure).tolist():
            if items[i] >= 0:
                continue
            if not whole[i]:
                items[i], seconds[i] = _two_of(digits[i].T)
            if items[i] < 0 and clear[i]:
                items[i] = _checked(values[i])
        if min(items, default=0) >= 0:
            break
    return items, seconds


def _checked(value):
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
            (second if choice >> k & 1 else first)[k] * _DIGITS**k
            for k in range(4)
        )
        item = _checked(value)
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
