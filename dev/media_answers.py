"""Writes what Pillow and PyAV read from the files in a folder.

dev/media_answers.sh runs it on testdata/media, after write_odd_media. Adds
PNG, BMP, WebP, PGM and PPM files, then writes two tables, which tests of
lib/media compare with:

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

# Name, bits, masks of red, green and blue, bytes of the header. Negative bits:
# rows from top to bottom.
BMPS = [
    ("bmp_1", 1, None, 40),
    ("bmp_4", 4, None, 40),
    ("bmp_8", 8, None, 40),
    ("bmp_8_os2", 8, None, 12),
    ("bmp_16", 16, None, 40),
    ("bmp_565", 16, (0xF800, 0x07E0, 0x001F), 40),
    ("bmp_24", 24, None, 40),
    ("bmp_24_down", -24, None, 40),
    ("bmp_32", 32, None, 40),
    ("bmp_32_alpha", 32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000), 108),
]
# Name, mode, options of Pillow.
WEBPS = [
    ("webp_lossy", "RGB", {"quality": 80}),
    ("webp_lossless", "RGB", {"lossless": True}),
    ("webp_alpha", "RGBA", {"quality": 80}),
    ("webp_lossless_alpha", "RGBA", {"lossless": True, "exact": True}),
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


def bmp(bits, masks, header):
    draw = random.Random(f"{bits} {masks} {header}")
    height = HEIGHT if bits > 0 else -HEIGHT
    bits = abs(bits)
    rows = draw.randbytes((WIDTH * bits + 31) // 32 * 4 * HEIGHT)
    if header == 12:
        info = struct.pack("<IHHHH", header, WIDTH, height, 1, bits)
        palette = draw.randbytes(3 << bits)
    else:
        sizes = struct.pack("<IiiHH", header, WIDTH, height, 1, bits)
        info = sizes + struct.pack("<I20x", 3 if masks else 0)
        palette = draw.randbytes(4 << bits) if bits <= 8 else b""
    if masks:
        info += struct.pack(f"<{len(masks)}I", *masks)
        info = info.ljust(header, b"\0")
    begin = 14 + len(info) + len(palette)
    head = struct.pack("<2sIII", b"BM", begin + len(rows), 0, begin)
    return head + info + palette + rows


def write_others(folder):
    """Pictures that a codec can make small, and any bytes for the others."""
    for name, *kind in BMPS:
        (folder / f"{name}.bmp").write_bytes(bmp(*kind))
    draw = random.Random("pnm")
    for name, magic, channels in (("pgm", "P5", 1), ("ppm", "P6", 3)):
        text = f"{magic}\n# a comment\n{WIDTH} {HEIGHT}\n255\n".encode()
        rows = draw.randbytes(WIDTH * HEIGHT * channels)
        (folder / f"{name}.{name}").write_bytes(text + rows)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    rgba = np.stack([15 * x, 20 * y, x * y, 255 - 19 * x], -1).astype(np.uint8)
    for name, mode, options in WEBPS:
        image = Image.fromarray(rgba[:, :, : len(mode)])
        image.save(folder / f"{name}.webp", **options)


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
    write_others(folder)
    endings = (".bmp", ".jpg", ".pgm", ".png", ".ppm", ".webp")
    images = sorted(p for p in folder.iterdir() if p.suffix in endings)
    clips = sorted(
        [*folder.glob("*.avi"), *folder.glob("*.mp4"), *folder.glob("*.mkv")]
    )
    lines = [image_line(path) for path in images]
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    lines = [line for path in clips for line in clip_lines(path)]
    (folder / "clips.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
