"""Writes what Pillow and PyAV read from the files in a folder.

dev/media_answers.sh runs it on testdata/media, after write_odd_media. Adds
PNGs, then writes two tables, which tests of lib/media compare with:

images.txt  name, height, width, SHA-256 of the RGB bytes
clips.txt   name, frames, height, width, then for each frame the mean RGB of
            4 x 4 parts from left to right and top to bottom, and a line each
"""

import hashlib
import pathlib
import random
import struct
import sys
import zlib

import av
import numpy as np
from PIL import Image

WIDTH = 13
HEIGHT = 11
PARTS = 4
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# Name, color type, bits, transparent color or not. No gray of 16 bits, which
# Pillow does not scale to 8.
PNGS = [
    ("gray_1", 0, 1, False),
    ("gray_2", 0, 2, False),
    ("gray_4", 0, 4, False),
    ("gray_8", 0, 8, False),
    ("gray_8_transparent", 0, 8, True),
    ("gray_alpha_8", 4, 8, False),
    ("gray_alpha_16", 4, 16, False),
    ("palette_4", 3, 4, False),
    ("palette_8", 3, 8, False),
    ("rgb_8", 2, 8, False),
    ("rgb_8_transparent", 2, 8, True),
    ("rgb_16", 2, 16, False),
    ("rgba_8", 6, 8, False),
    ("rgba_16", 6, 16, False),
]


def chunk(name, content):
    checksum = zlib.crc32(name + content)
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", checksum)
    )


def png(kind, bits, transparent):
    draw = random.Random(f"{kind} {bits}")
    row_bytes = (WIDTH * CHANNELS[kind] * bits + 7) // 8
    rows = b"".join(b"\0" + draw.randbytes(row_bytes) for _ in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, kind, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header)]
    if kind == 3:
        parts.append(chunk(b"PLTE", draw.randbytes(3 << bits)))
    if transparent:
        parts.append(chunk(b"tRNS", b"\0\7" * CHANNELS[kind]))
    parts += [chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b"")]
    return b"".join(parts)


def image_line(path):
    with Image.open(path) as image:
        rgb = np.asarray(image.convert("RGB"))
    digest = hashlib.sha256(rgb.tobytes()).hexdigest()
    return f"{path.name} {rgb.shape[0]} {rgb.shape[1]} {digest}"


def part_means(rgb):
    height, width, _ = rgb.shape
    for y in range(PARTS):
        for x in range(PARTS):
            part = rgb[
                y * height // PARTS : (y + 1) * height // PARTS,
                x * width // PARTS : (x + 1) * width // PARTS,
            ]
            yield from part.reshape(-1, 3).mean(axis=0)


def clip_lines(path):
    with av.open(str(path)) as container:
        stream = container.streams.best("video")
        frames = [
            frame.to_ndarray(format="rgb24")
            for frame in container.decode(stream)
        ]
    height, width, _ = frames[0].shape
    lines = [f"{path.name} {len(frames)} {height} {width}"]
    for frame in frames:
        lines.append(" ".join(f"{mean:.1f}" for mean in part_means(frame)))
    return lines


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, *kind in PNGS:
        (folder / f"{name}.png").write_bytes(png(*kind))
    images = sorted([*folder.glob("*.jpg"), *folder.glob("*.png")])
    clips = sorted(
        [*folder.glob("*.avi"), *folder.glob("*.mp4"), *folder.glob("*.mkv")]
    )
    lines = [image_line(path) for path in images]
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    lines = [line for path in clips for line in clip_lines(path)]
    (folder / "clips.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
