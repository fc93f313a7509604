"""Images of any package: feedrate.Loader against Pillow.

Each file is read whole, alone and in a tar shard, as a crop of the center, and
as crops at places that the loader draws, with and without the index of JPEG
files. Pixels must be Pillow's to the bit. An array of coordinates with the same
seed tells where a crop is.
"""

import io
import pathlib
import struct
import sys
import tarfile
import tempfile
import warnings

import numpy as np
import outcome
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import feedrate  # noqa: E402

Image.MAX_IMAGE_PIXELS = None
warnings.simplefilter("ignore")

MAGIC = {
    b"\xff\xd8\xff": ".jpg",
    b"\x89PNG\r\n\x1a\n": ".png",
    b"BM": ".bmp",
    b"P5": ".pgm",
    b"P6": ".ppm",
}
# Files that are no images may begin with these.
NAMED = (".bmp", ".pgm", ".ppm", ".dib", ".pnm")
# Above this, coordinates take too much memory, and only the whole is compared.
CROPPED_PIXELS = 30_000_000
DRAWS = 3
PIXEL_LIMIT = 1 << 28  # Above it we refuse (docs/data.md).
# Chunks of PNG and WebP that hold them.
PIXELS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"VP8 ", b"VP8L")
PAGE = "docs/foreign.md"


def ending(path):
    """The ending of an image that we say we read, or None."""
    try:
        with open(path, "rb") as file:
            head = file.read(12)
    except OSError:
        return None
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return ".webp"
    for magic, word in MAGIC.items():
        if head.startswith(magic):
            named = len(magic) > 2 or path.suffix.lower() in NAMED
            return word if named else None
    return None


def cases(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and ending(path)
    )


def ours(source, crop, **arguments):
    """One image as the loader gives it. Raises RuntimeError with its reason."""
    loader = feedrate.Loader(
        source,
        batch_size=1,
        crop=crop,
        dtype="uint8",
        channels_last=True,
        output="numpy",
        on_error="fail",
        workers=0,
        **arguments,
    )
    with loader:
        return next(iter(loader))[0][0]


def reference(path):
    """(RGB, None), or (None, why) where Pillow refuses."""
    try:
        with Image.open(path) as image:
            if image.width * image.height > PIXEL_LIMIT:
                return None, "more pixels than we decode"
            frames = getattr(image, "n_frames", 1)
            if image.mode.startswith("I"):
                # docs/data.md: the upper 8 bits, where Pillow cuts off at 255.
                gray = (np.asarray(image).astype(np.uint32) >> 8) & 255
                rgb = np.repeat(gray.astype(np.uint8)[..., None], 3, axis=2)
            else:
                rgb = np.asarray(image.convert("RGB"))
            return rgb, f"{image.format} {image.mode} {frames} frames"
    except Exception as error:  # Pillow raises what it likes.
        return None, f"{type(error).__name__}: {error}"


# What we refuse and Pillow reads: a part of our reason, and what docs/data.md
# says of it.
STRICTER = {
    "PNG: the file is cut off": "damaged",
    "CRC error": "damaged",
    "Corrupt JPEG data": "damaged",
    "a color is not in its palette": "damaged",
    "BMP: is compressed": "BMP not compressed",
    "is animated": "animated WebP",
    "only 255 is read": "PGM and PPM of 8 bits",
}


# BMP suite: the file with the same picture, from the one that Pillow refuses.
ANSWERS = {
    "rgb32bf.bmp": "../html/rgb24.png",
    "badheadersize.bmp": "../html/pal1.png",
}


def compare(folder, case):
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, "case" + ending(folder / case))
        path.symlink_to(folder / case)
        answer = ANSWERS.get((folder / case).name)
        answer = answer and (folder / case).parent / answer
        return compare_file(path, answer)


def shard(path):
    """A tar file with this sample."""
    packed = path.with_suffix(".tar")
    with tarfile.open(packed, "w", dereference=True) as archive:
        archive.add(path, "sample" + path.suffix)
    return packed


def read(source, path, size):
    """(pixels, None) or (None, why not)"""
    try:
        return ours([source], size), None
    except (RuntimeError, ValueError) as error:
        return None, str(error).replace(str(path), "FILE")


def compare_file(path, answer):
    expected, said = reference(path)
    # Any crop is refused alike where the file cannot be used.
    size = (1, 1) if expected is None else expected.shape[:2]
    whole, why = read(path, path, size)
    sharded, why_not = read(shard(path), path, size)
    if (whole is None) != (sharded is None):
        return outcome.unexplained(f"alone: {why}; in a shard: {why_not}")
    if whole is None:
        if expected is None:
            return outcome.refused(why)
        for part, kind in STRICTER.items():
            if part in why:
                return outcome.refused(f"{why} (docs/data.md: {kind})")
        return outcome.unexplained(f"Pillow reads it ({said}), we: {why}")
    difference = different(sharded, whole)
    if difference:
        return outcome.unexplained(f"in a shard: {difference} ({said})")
    if expected is None:
        return second_opinion(path, answer, said)
    difference = different(whole, expected)
    if difference:
        return outcome.unexplained(f"whole: {difference} ({said})")
    return compare_crops(path, expected)


def pixels_only(path):
    """A PNG or WebP file without the chunks that hold no pixels, or None."""
    data = path.read_bytes()
    if path.suffix == ".png":
        head, order, begin = data[:8], ">", 8
    elif path.suffix == ".webp":
        head, order, begin = data[:12], "<", 12
    else:
        return None
    parts = []
    while begin + 8 <= len(data):
        if order == ">":
            size, name = struct.unpack_from(">I4s", data, begin)
            end = begin + 12 + size
        else:
            name, size = struct.unpack_from("<4sI", data, begin)
            end = begin + 8 + size + size % 2
        if name in PIXELS:
            parts.append(data[begin:end])
        begin = end
    body = b"".join(parts)
    if order == "<":
        head = head[:4] + struct.pack("<I", len(body) + 4) + head[8:]
    return io.BytesIO(head + body)


def second_opinion(path, answer, said):
    """Of a file that we read and Pillow does not: with what holds no pixels
    left out, or as its authors have it in another file, Pillow reads ours."""
    other = answer or pixels_only(path)
    expected = None
    if other is not None:
        expected, _ = reference(other)
    if expected is None:
        return outcome.unexplained(f"we read what Pillow does not: {said}")
    difference = different(ours([path], expected.shape[:2]), expected)
    if difference:
        return outcome.unexplained(f"Pillow: {said}; else: {difference}")
    return outcome.explained(f"right, and Pillow says {said}", PAGE)


def different(a, b):
    """How, or an empty text."""
    if a.shape != b.shape:
        return f"{a.shape} where {b.shape} is right"
    wrong = (a != b).any(axis=2)
    if not wrong.any():
        return ""
    worst = np.abs(a.astype(int) - b.astype(int)).max()
    return f"{wrong.mean():.2%} of the pixels, by at most {worst}"


def compare_crops(path, expected):
    height, width = expected.shape[:2]
    if min(height, width) < 2 or height * width > CROPPED_PIXELS:
        return outcome.equal()
    crop = (height - height // 2, width - width // 3)
    y, x = (height - crop[0]) // 2, (width - crop[1]) // 2
    center = ours([path], crop, crop_position="center")
    wanted = expected[y : y + crop[0], x : x + crop[1]]
    difference = different(center, wanted)
    if difference:
        return outcome.unexplained(f"crop of the center: {difference}")
    places = np.empty((1, height, width, 3), np.uint8)
    places[..., 0] = np.arange(width) % 256
    places[..., 1] = (np.arange(height) % 256)[:, None]
    places[..., 2] = np.arange(width) // 256 + np.add.outer(
        np.arange(height) // 256 * 16, np.zeros(width, int)
    )
    index = path.with_suffix(".index")
    for seed in range(DRAWS):
        crop = (max(1, height // (seed + 2)), max(1, width // (seed + 2)))
        place = ours(places, crop, seed=seed)[0, 0].astype(int)
        x = place[0] + 256 * (place[2] % 16)
        y = place[1] + 256 * (place[2] // 16)
        wanted = expected[y : y + crop[0], x : x + crop[1]]
        for name, arguments in (
            ("a crop", {}),
            ("a crop that makes an index", {"index": index}),
            ("a crop by the index", {"index": index}),
        ):
            found = ours([path], crop, seed=seed, **arguments)
            difference = different(found, wanted)
            if difference:
                return outcome.unexplained(
                    f"{name} at {y}, {x}, {crop}: {difference}"
                )
    return outcome.equal()
