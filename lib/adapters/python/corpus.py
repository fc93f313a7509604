"""Decoded items, as numpy views of the runner's shared memory.

lib/media/corpus.h describes the bytes. Nothing is copied: the file is mapped
read-only, and every array is a view of the map.
"""

import mmap
import struct

import numpy as np

_HEADER = struct.Struct("<8sIIII4Q8x")
_MAGIC = b"FRCORPUS"
_VERSION = 1
_DTYPES = [np.uint8, np.float16, np.float32]
_LAYOUTS = ["HWC", "CHW"]
# {offset, bytes, frames, height, width, channels} of each item.
_INDEX_COLUMNS = 6


class CorpusError(ValueError):
    """The file is not a valid corpus."""


class Corpus:
    """len() items; item(i) is a read-only array."""

    def __init__(self, fd):
        # A photograph is more than a hundred pages: their faults, taken in
        # timed calls, would double the time of a flip.
        self._map = mmap.mmap(
            fd,
            0,
            flags=mmap.MAP_SHARED | mmap.MAP_POPULATE,
            prot=mmap.PROT_READ,
        )
        if len(self._map) < _HEADER.size:
            raise CorpusError(f"corpus of {len(self._map)} bytes has no header")
        magic, version, dtype, layout, _, count, index, _, size = (
            _HEADER.unpack_from(self._map)
        )
        if magic != _MAGIC or version != _VERSION:
            raise CorpusError(
                f"corpus starts with {magic!r}, version {version}; expected"
                f" {_MAGIC!r}, version {_VERSION}"
            )
        if dtype >= len(_DTYPES) or layout >= len(_LAYOUTS):
            raise CorpusError(f"corpus of type {dtype}, layout {layout}")
        if size > len(self._map) or count == 0:
            raise CorpusError(
                f"corpus of {count} items and {size} bytes in {len(self._map)}"
            )
        if index + count * _INDEX_COLUMNS * 8 > len(self._map):
            raise CorpusError(f"index of {count} items runs past the end")
        self.dtype = np.dtype(_DTYPES[dtype])
        self.layout = _LAYOUTS[layout]
        self._index = np.ndarray(
            (count, _INDEX_COLUMNS), "<i8", self._map, index
        ).tolist()

    def __len__(self):
        return len(self._index)

    def item(self, i):
        offset, size, frames, height, width, channels = self._index[i]
        shape = (height, width, channels)
        if self.layout == "CHW":
            shape = (channels, height, width)
        if frames > 1:
            shape = (frames, *shape)
        expected = self.dtype.itemsize * frames * height * width * channels
        if size != expected or min(shape) < 1 or offset < 0:
            raise CorpusError(f"item {i} has {size} bytes at {offset}, {shape}")
        return np.ndarray(shape, self.dtype, self._map, offset)
