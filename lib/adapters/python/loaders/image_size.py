"""Height and width of an image file, from its first bytes."""

import struct

# Enough for the headers that cameras write before the size.
_HEAD_BYTES = 1 << 18
# Start of frame, all kinds; not DHT (C4), JPG (C8) and DAC (CC).
_JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def size_of_file(path):
    """(height, width), or None where it is not known."""
    with open(path, "rb") as file:
        return size_of(file.read(_HEAD_BYTES))


def size_of(data):
    try:
        if data.startswith(b"\xff\xd8"):
            return _size_of_jpeg(data)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack_from(">II", data, 16)
            return height, width
    except struct.error:  # Cut short.
        pass
    return None


def _size_of_jpeg(data):
    at = 2
    while True:
        start, marker, length = struct.unpack_from(">BBH", data, at)
        if start != 0xFF:
            return None
        if marker == 0xFF:  # Filling.
            at += 1
        elif marker in _JPEG_FRAMES:
            return struct.unpack_from(">HH", data, at + 5)
        else:
            at += 2 + length
