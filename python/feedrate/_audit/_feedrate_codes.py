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

import random
import struct
import zlib

MOST_ITEMS = 65536
_CHECKS = 3969
DIGITS = 127
POWERS = [1, 127, 127**2, 127**3]
# Black is 40 and white 180 of 255, so that changes of brightness and contrast
# cut nothing off.
LEVELS = range(40, 181, 20)
# Blocks of pixels that are read: of most images, and in each direction of those
# that need more. What is copied from a device is read once.
FEW_BLOCKS = 88
DEVICE_POINTS = 32
MORE_POINTS = ((20, False), (32, False), (32, True), (63, False), (63, True))
# Places of what a block's color says in a row of counts: 128 per digit, of
# which the last is for black, white and what is neither, in this order.
_BLACK, _WHITE, _NONE = 127, 255, 383
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


def complete(line, found):
    """Fills the line of a batch with what it shows, a Batch."""
    line["ids"] = found.items
    if any(second >= 0 for second in found.seconds):
        line["seconds"] = found.seconds
    if found.draws:
        line["draws"] = [d[0] << 16 | d[1] << 8 | d[2] for d in found.draws]


def complete_from(line, arrays):
    """Fills a line with what arrays say, by name."""
    if "weights" in arrays:
        line["weights"] = zlib.crc32(arrays["weights"].tobytes()) + 1
    if "labels" in arrays:
        line["labels"] = arrays["labels"].tolist()
    if "pixels" in arrays:
        complete(line, read_device(arrays["pixels"]))
    if "pixels_last" in arrays:
        pixels = arrays["pixels_last"].transpose(0, 2, 1)
        complete(line, read_device(pixels))
    if "tokens" in arrays:
        complete(line, read_tokens(arrays["tokens"]))


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


def _scattered(height, width, count):
    """Where blocks begin that are spread evenly, each in a row and column of
    its own: so few of them meet all colors of any crop."""
    return [
        (
            int((0.5 + i * 0.7548776662) % 1 * (height - 1)),
            int((0.5 + i * 0.5698402910) % 1 * (width - 1)),
        )
        for i in range(count)
    ]


_PLACES = {}


def _places(height, width, points):
    """Of each block of 2 x 2 the first pixel and the last, as numbers in the
    image: all first ones, then all last ones. Without `points`, those that most
    images need."""
    import numpy as np

    found = _PLACES.get((height, width, points))
    if found is None:
        if points:
            rows, columns = _line(height, points), _line(width, points)
            blocks = [(y, x) for y in rows for x in columns]
        else:
            blocks = _scattered(height, width, FEW_BLOCKS)
        places = [
            (y + last) * width + x + last for last in (0, 1) for y, x in blocks
        ]
        found = _PLACES[height, width, points] = np.array(places)
    return found


def sample(images, points=0):
    """The blocks of a batch of images: (images, channels, 2 pixels times
    blocks)."""
    import numpy as np

    images = images.transpose(axes_of(images.shape))
    count, channels, height, width = images.shape
    places = _places(height, width, points)
    if images.flags.c_contiguous:
        flat = images.reshape(count, channels, height * width)
        return np.take(flat, places, axis=2)[:, :3]
    last = images.transpose(0, 2, 3, 1)
    if last.flags.c_contiguous:
        flat = last.reshape(count, height * width, channels)
        return np.take(flat, places, axis=1)[:, :, :3].transpose(0, 2, 1)
    rows, rest = np.divmod(places, width)
    return images[:, :3, rows, rest]


def _codes_of(blocks, has_fill=False):
    """The color of each block of what sample() returns: 0 is black, 511 white,
    512 none. `has_fill`: the darkest color is what padding or a rotation has
    filled in."""
    import numpy as np

    images, channels, count = blocks.shape
    count //= 2
    blocks = blocks.astype(np.float32, copy=False)
    pixel = blocks[:, :, :count]
    # Black and white are each about a quarter of the image. Others than these
    # are between them, so the ends tell how it was normalized.
    ordered = np.sort(pixel, axis=2)
    if has_fill:
        least = ordered[:, :, :1]
        least = least + 0.03 * (ordered[:, :, -1:] - least)
        first = (pixel < least).all(axis=1).sum(axis=1)
        at = np.stack([first + (count - first) // 16] * 3, axis=1)
        black = np.take_along_axis(ordered, at[:, :, None], axis=2)
        at = count - 1 - (count - first) // 16
        at = np.stack([at] * 3, axis=1)
        white = np.take_along_axis(ordered, at[:, :, None], axis=2)
    else:
        black = ordered[:, :, count // 16, None]
        white = ordered[:, :, count - 1 - count // 16, None]
    scale = white - black
    scale = 7 / np.where(scale > 1e-6, scale, np.nan)
    with np.errstate(invalid="ignore"):
        # A block is good if both of its pixels are of the same level.
        levels = blocks - black
        levels *= scale
        whole = np.rint(levels)
        off = levels - whole
        good = np.abs(off, out=off) < 0.3
        first, last = levels[:, :, :count], levels[:, :, count:]
        off = np.subtract(first, last, out=last)
        good = good[:, :, :count] & (np.abs(off, out=off) < 0.3)
        good = good.all(axis=1)
        whole = whole[:, :, :count]
        good &= (whole.min(axis=1) >= 0) & (whole.max(axis=1) <= 7)
        found = whole[:, 0] + 8 * whole[:, 1] + 64 * whole[:, 2]
    return np.where(good, found, 512).astype(np.intp)


def read(images):
    """A Batch of an array of images. Those that few points do not tell are read
    at many."""
    return _read_again(
        sample(images),
        lambda i, points: sample(images[i : i + 1], points),
        MORE_POINTS,
    )


def _read_again(blocks, sample_of, more_points):
    """A Batch of the blocks that most images need. `sample_of(i, points)` has
    more of an image."""
    import numpy as np

    colors = _codes_of(blocks)
    found = Batch(*_items_of(colors, False), _draws_of(colors))
    for points, has_fill in more_points:
        again = [i for i, item in enumerate(found.items) if item < 0]
        if not again:
            return found
        blocks = np.concatenate([sample_of(i, points) for i in again])
        more = _items_of(_codes_of(blocks, has_fill), True)
        for i, item, second in zip(again, *more, strict=True):
            found.items[i] = item
            found.seconds[i] = second
    again = [i for i, item in enumerate(found.items) if item < 0]
    if again:
        import _feedrate_colors

        for i in again:
            blocks = sample_of(i, more_points[-1][0])
            found.items[i], found.seconds[i] = _feedrate_colors.read_colors(
                blocks[0].reshape(3, 2, -1)
            )
    return found


def device_places(height, width):
    """Of images on a device, which are read once: the pixels that tell their
    items, as numbers in the image."""
    import numpy as np

    few = _places(height, width, 0)
    many = _places(height, width, DEVICE_POINTS)
    return np.concatenate([few, many])


def read_device(pixels):
    """A Batch of the pixels (images, channels, pixels) that device_places()
    names."""
    few = 2 * FEW_BLOCKS
    again = ((DEVICE_POINTS, False), (DEVICE_POINTS, True))
    return _read_again(
        pixels[:, :, :few], lambda i, _: pixels[i : i + 1, :, few:], again
    )


# By the order of channels: the place in a row of counts of each of 512 colors
# and of what is none.
_SLOTS = []
_CHECK_OF = []


def _fill_tables():
    import numpy as np

    codes = np.arange(1, 509)
    swapped = codes >> 6 | codes & 56 | (codes & 7) << 6
    for order in (codes, swapped):
        slots = np.full(513, _NONE)
        slots[order] = (codes - 1) % 4 * 128 + (codes - 1) // 4
        slots[0], slots[511] = _BLACK, _WHITE
        _SLOTS.append(slots)
    # CRC-32 of the sum of two numbers without common bits.
    low, high = (
        np.array([zlib.crc32(struct.pack("<I", i << by)) for i in range(256)])
        for by in (0, 8)
    )
    both = low[None, :] ^ high[:, None] ^ low[0]
    _CHECK_OF.append(both.reshape(MOST_ITEMS) % _CHECKS)


def _items_of(found, is_last):
    """The items and second items of the colors of blocks, by image."""
    import numpy as np

    if not _CHECK_OF:
        _fill_tables()
    images, points = found.shape
    rows = np.arange(images)[:, None] * 512
    items = np.full(images, -1)
    seconds = np.full(images, -1)
    # Channels may be in the other order.
    for slots in _SLOTS:
        counts = np.bincount(
            (slots[found] + rows).ravel(), minlength=images * 512
        )
        counts = counts.reshape(images, 4, 128)
        # Both ends are there, or the normalization is not what was estimated.
        black, white = counts[:, 0, 127], counts[:, 1, 127]
        total = points - (found == 512).sum(axis=1)
        sure = (black * 16 > total) & (white * 16 > total)
        sure &= total * 8 > points
        digits = counts[:, :, :DIGITS]
        best = digits.argmax(axis=2)
        votes = np.take_along_axis(digits, best[:, :, None], axis=2)[:, :, 0]
        rest = digits.sum(axis=2) - votes
        values, checks = np.divmod((best * POWERS).sum(axis=1), _CHECKS)
        right = (values < MOST_ITEMS) & (
            _CHECK_OF[0][np.minimum(values, MOST_ITEMS - 1)] == checks
        )
        seen = (votes > 1).all(axis=1)
        whole = seen & (votes > 7 * rest).all(axis=1)
        clear = seen & (votes > 2 * rest).all(axis=1)
        left = sure & (items < 0)
        for i in np.flatnonzero(left & ~whole).tolist() if is_last else []:
            items[i], seconds[i] = _two_of(digits[i])
        named = left & (items < 0) & (clear if is_last else whole) & right
        items[named] = values[named]
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


_SIGNS = []


def _draws_of(found):
    """Three numbers of where black and white are. Other crops and flips have
    others; what an image shows changes them hardly."""
    import numpy as np

    if not _SIGNS:
        chance = random.Random(1)
        signs = [chance.choice((-1, 1)) for _ in range(3 * FEW_BLOCKS)]
        _SIGNS.append(np.array(signs, np.float32).reshape(FEW_BLOCKS, 3))
    ends = np.subtract(found == 0, found == 511, dtype=np.float32)
    draws = np.clip(128 + 6 * (ends @ _SIGNS[0]), 0, 255)
    return draws.astype(int).tolist()


def read_tokens(rows):
    """A Batch of rows of tokens. Packed rows show several items, of which each
    whole code names one; a row's items count once each."""
    import numpy as np

    rows = np.asarray(rows)
    found = [[] for _ in rows]
    if rows.shape[1] >= 6:
        marks = np.argwhere(rows[:, :-5] == _MARK)
        spread = marks[:, 1:] + np.arange(1, 6)
        codes = rows[marks[:, :1], spread].astype(np.int64) - _FIRST_TOKEN
        whole = ((codes >= 0) & (codes < _TOKEN_BASE)).all(axis=1)
        for row, code in zip(
            marks[whole, 0].tolist(), codes[whole].tolist(), strict=True
        ):
            item = code[0] + code[1] * 64 + code[2] * 4096
            is_right = code[3] + code[4] * 64 == _check(item)
            if is_right and item not in found[row]:
                found[row].append(item)
    items = [item for row in found for item in row or [-1]]
    return Batch(items, [-1] * len(items), [])
