"""Image files without an image library."""

import struct
import zlib


def png(image):
    """The bytes of a PNG of a uint8 RGB array."""
    height, width, _ = image.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            _chunk(b"IHDR", head),
            _chunk(b"IDAT", zlib.compress(rows)),
            _chunk(b"IEND", b""),
        ]
    )


def bmp(image):
    """The bytes of an uncompressed BMP of the same."""
    height, width, _ = image.shape
    padding = bytes(-width * 3 % 4)
    rows = b"".join(row[:, ::-1].tobytes() + padding for row in image[::-1])
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, *[0] * 6)
    start = 14 + len(head)
    file = struct.pack("<2sIHHI", b"BM", start + len(rows), 0, 0, start)
    return file + head + rows


def _chunk(kind, data):
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)
