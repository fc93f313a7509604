"""Where a loader's items come from: shared memory, files, or containers.

A source has len(), path(i) for messages, and load(i, decode): the input of item
i, in the library's own form.
"""

import bisect
import contextlib
import hashlib
import io
import json
import os
import pathlib
import struct
import tarfile
import urllib.request

import clips
import numpy as np
from corpus import Corpus

EXTENSIONS = ("jpg", "jpeg", "png", "webp", "bmp", "pgm", "ppm", "npy")
# Enough for the headers that cameras write before the size.
_HEAD_BYTES = 1 << 18
# Start of frame, all kinds; not DHT (C4), JPG (C8) and DAC (CC).
_JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class ItemError(Exception):
    """An item that cannot be read; the text names it."""


def open_source(kind, fd, formats):
    """formats: the library's module of loaders/recipes."""
    if kind == "corpus":
        return CorpusSource(Corpus(fd), formats)
    if hasattr(formats, "from_clip") and formats.is_clip:
        return ClipSource(clips.read_list(fd), formats)
    if kind == "shards":
        return ShardSource(read_list(fd))
    if kind == "tfrecord":
        return RecordSource(read_list(fd))
    if kind == "parquet":
        return ParquetSource(read_list(fd), formats)
    if kind == "lmdb":
        return LmdbSource(read_list(fd), formats)
    return FileSource(read_list(fd), formats)


def read_list(fd):
    """Paths of the JSON lines in a memory file, in their order."""
    size = os.fstat(fd).st_size
    lines = os.pread(fd, size, 0).decode().splitlines()
    paths = [json.loads(line)["path"] for line in lines if line]
    if not paths:
        raise ValueError("the list of files is empty")
    return paths


class CorpusSource:
    """Decoded items. Inputs are made before the clock starts, and kept."""

    decodes = False

    def __init__(self, corpus, formats):
        self._corpus = corpus
        self._formats = formats
        self._inputs = [None] * len(corpus)

    def __len__(self):
        return len(self._inputs)

    def path(self, index):
        return f"item {index} in memory"

    def preload(self, indexes):
        for index in indexes:
            if self._inputs[index] is None:
                self._inputs[index] = self._formats.library.input_of(
                    self._corpus.item(index), self._corpus.layout
                )

    def load(self, index, stages):
        return self._inputs[index]


class FileSource:
    """Files, read and decoded for each item; .npy files hold HWC arrays."""

    decodes = True

    def __init__(self, paths, formats):
        self._paths = paths
        self._formats = formats

    def __len__(self):
        return len(self._paths)

    def path(self, index):
        return self._paths[index]

    def preload(self, indexes):
        """Nothing: reading is what is measured."""

    def load(self, index, stages):
        path = self._paths[index]
        with stages.busy("read"):
            data = self._read(index)
        with stages.busy("decode"):
            return decoded(self._formats, data, path)

    def _read(self, index):
        with open(self._paths[index], "rb") as file:
            return file.read()


class LmdbSource(FileSource):
    """Values of an LMDB file, in the order of its keys. Each process opens it
    for itself."""

    def __init__(self, paths, formats):
        if len(paths) != 1:
            raise ValueError(f"one LMDB file is read, not {len(paths)}")
        self._file = paths[0]
        self._opened = self._by = None
        with self._open() as environment, environment.begin() as transaction:
            self._keys = list(transaction.cursor().iternext(values=False))
        names = [f"{self._file}: {key.decode()}" for key in self._keys]
        super().__init__(names, formats)

    def _open(self):
        import lmdb

        flags = {"readonly": True, "lock": False, "readahead": False}
        return lmdb.open(self._file, subdir=False, **flags)

    def _read(self, index):
        if self._by != os.getpid():
            self._opened = self._open()
            self._by = os.getpid()
        with self._opened.begin() as transaction:
            return transaction.get(self._keys[index])


class ParquetSource(FileSource):
    """Rows of Parquet files with an image in the column `image`. pyarrow reads
    a group of rows at a time; each process keeps the last one."""

    def __init__(self, paths, formats):
        import pyarrow.parquet

        self._file_of = pyarrow.parquet.ParquetFile
        # Path and number of each group, and its first row of all.
        self._groups = []
        self._firsts = []
        names = []
        for path in paths:
            metadata = pyarrow.parquet.read_metadata(path)
            row = 0
            for group in range(metadata.num_row_groups):
                self._groups.append((path, group))
                self._firsts.append(len(names) + row)
                row += metadata.row_group(group).num_rows
            names += [f"{path}: row {i}" for i in range(row)]
        self._kept = self._rows = None
        super().__init__(names, formats)

    def _read(self, index):
        at = bisect.bisect_right(self._firsts, index) - 1
        if self._kept != at:
            path, group = self._groups[at]
            with self._file_of(path) as file:
                self._rows = file.read_row_group(
                    group, columns=["image"], use_threads=False
                )["image"]
            self._kept = at
        return self._rows[index - self._firsts[at]].as_py()["bytes"]


class ShardSource:
    """Tar files of images, as WebDataset has them. Items are numbered in the
    order of the shards and of their members."""

    decodes = True

    def __init__(self, paths):
        self.shards = paths
        self._members = []
        for path in paths:
            # The headers alone: a shard's data is skipped.
            with open_tar(path) as tar:
                names = [member.name for member in tar if member.isfile()]
            self._members += [
                (path, name) for name in names if extension(name) in EXTENSIONS
            ]
        if not self._members:
            raise ValueError(f"no image is in {', '.join(paths)}")
        self._indexes = {
            (path, name.lower()): i
            for i, (path, name) in enumerate(self._members)
        }

    def __len__(self):
        return len(self._members)

    def path(self, index):
        shard, name = self._members[index]
        return f"{shard}: {name}"

    def index(self, shard, name):
        return self._indexes[shard, name.lower()]

    def preload(self, indexes):
        """Nothing: reading is what is measured."""


def open_tar(path):
    """A tar file, or one of a web server."""
    if not path.startswith("http"):
        return tarfile.open(path, "r:")
    return tarfile.open(fileobj=urllib.request.urlopen(path), mode="r|")


class RecordSource:
    """TFRecord files of tf.train.Example, with an image in `image/encoded`."""

    decodes = True

    def __init__(self, paths):
        self.files = paths
        self._counts = [count_records(path) for path in paths]

    def __len__(self):
        return sum(self._counts)

    def path(self, index):
        for path, count in zip(self.files, self._counts, strict=True):
            if index < count:
                return f"{path}: record {index}"
            index -= count
        raise IndexError(index)

    def preload(self, indexes):
        """Nothing: reading is what is measured."""


def count_records(path):
    """How many records a TFRecord file has, by their lengths alone."""
    size, at, count = os.path.getsize(path), 0, 0
    with open(path, "rb") as file:
        while at < size:
            file.seek(at)
            (length,) = struct.unpack("<Q", file.read(8))
            at += 8 + 4 + length + 4
            count += 1
    if at != size:
        raise ValueError(f"{path} is cut off")
    return count


def extension(name):
    return pathlib.PurePath(name).suffix[1:].lower()


class ClipSource:
    """Videos, of which a clip each is decoded by the recipe's decoder."""

    decodes = True

    def __init__(self, files, formats):
        self._files = files
        self._formats = formats

    def __len__(self):
        return len(self._files)

    def path(self, index):
        return self._files[index][0]

    def frames(self, index):
        """Numbers of the clip's frames, in display order from 0."""
        return self._files[index][1]

    def preload(self, indexes):
        """Nothing: reading is what is measured."""

    def load(self, index, stages):
        with stages.busy("decode"):
            clip = self._formats.decode_clip(self._files[index])
            return self._formats.from_clip(clip)


def cache_folder(kind):
    """Where the user's cache has files of a kind."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "feedrate" / kind


def converted(kind, source, write):
    """The folder with a source's files in another format, in the user's cache.
    write(folder) makes it, once."""
    paths = [source.path(i) for i in range(len(source))]
    stats = [(path, os.stat(path).st_size) for path in paths]
    name = hashlib.sha256(repr(stats).encode()).hexdigest()[:16]
    folder = cache_folder(kind) / name
    done = folder.with_suffix(".done")
    if not done.exists():
        # One that was interrupted is left alone: others may be writing.
        made = folder.with_suffix(f".{os.getpid()}")
        made.mkdir(parents=True)
        write(made)
        # Fails if another process was faster.
        with contextlib.suppress(OSError):
            made.rename(folder)
        done.touch()
    return folder


def decoded(formats, data, name):
    """The library's input of a file's bytes."""
    if name.endswith(".npy"):
        image = formats.from_array(array_of_npy(data))
    else:
        image = formats.decode(data, name)
    return formats.with_channels(image)


def array_of_npy(data):
    """uint8 HWC from the bytes of a .npy file; no pickles."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] % 3:
        raise ValueError(
            f"the array is {array.dtype} {array.shape}, not uint8 HWC"
        )
    return np.ascontiguousarray(array)


def size_of_file(path):
    """(height, width) of an image file, from its first bytes, or None where it
    is not known."""
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
