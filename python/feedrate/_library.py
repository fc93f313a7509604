"""The C functions of lib/loader/python/c_api.h, through ctypes.

ctypes releases the interpreter's lock during every call, needs no header of
Python, and one library serves every version of it.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import json
import os
import pathlib
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

ABI = 8
LIBRARY = "libfeedrate_loader.so"
_PACKAGE = pathlib.Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent

# Characters at either end of a message.
_SHOWN = 1000

# Numbers of absl::StatusCode.
DEADLINE_EXCEEDED = 4
_ERRORS = {
    3: ValueError,
    5: FileNotFoundError,
    7: PermissionError,
    8: MemoryError,
    14: OSError,
    15: OSError,
    16: PermissionError,
}


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("channels", ctypes.c_int32),
    ]


class Facts(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_int64),
        ("samples", ctypes.c_int64),
        ("batch_bytes", ctypes.c_int64),
        ("channels", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("frames", ctypes.c_int32),
        ("mixes", ctypes.c_int32),
    ]


class Batch(ctypes.Structure):
    _fields_ = [
        ("keep", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("items", ctypes.POINTER(ctypes.c_int64)),
        ("own_share", ctypes.c_double),
    ]


_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_NUMBERS = ctypes.POINTER(ctypes.c_int64)
_LOADER = ctypes.c_int64
_FUNCTIONS = {
    # name: (result, arguments)
    "feedrate_loader_abi": (ctypes.c_int, []),
    "feedrate_error": (ctypes.c_char_p, []),
    "feedrate_open": (
        ctypes.c_int,
        [
            _TEXTS,
            ctypes.c_int64,
            _TEXTS,
            ctypes.c_int64,
            ctypes.POINTER(Array),
            ctypes.POINTER(_LOADER),
        ],
    ),
    "feedrate_close": (None, [_LOADER]),
    "feedrate_describe": (ctypes.c_int, [_LOADER, ctypes.POINTER(Facts)]),
    "feedrate_names": (ctypes.c_int, [_LOADER, ctypes.c_char_p, _NUMBERS]),
    "feedrate_labels": (ctypes.c_int, [_LOADER, ctypes.c_void_p]),
    "feedrate_classes": (ctypes.c_int, [_LOADER, ctypes.c_char_p, _NUMBERS]),
    "feedrate_left_out": (ctypes.c_int, [_LOADER, _TEXTS]),
    "feedrate_about": (ctypes.c_int, [_LOADER, _TEXTS]),
    "feedrate_entries": (
        ctypes.c_int,
        [_LOADER, ctypes.c_void_p, _NUMBERS],
    ),
    "feedrate_keep": (
        ctypes.c_int,
        [_LOADER, ctypes.c_char_p, ctypes.c_int64],
    ),
    "feedrate_episode": (
        ctypes.c_int,
        [_LOADER, ctypes.c_int64, ctypes.c_void_p],
    ),
    "feedrate_texts": (
        ctypes.c_int,
        [_LOADER, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), _NUMBERS],
    ),
    "feedrate_count": (ctypes.c_int, [_LOADER, ctypes.c_int64, _NUMBERS]),
    "feedrate_give": (ctypes.c_int, [_LOADER, ctypes.c_void_p]),
    "feedrate_start": (
        ctypes.c_int,
        [_LOADER, ctypes.c_int64, ctypes.c_int64],
    ),
    "feedrate_next": (
        ctypes.c_int,
        [_LOADER, ctypes.c_double, ctypes.POINTER(Batch)],
    ),
    "feedrate_release": (None, [ctypes.c_void_p]),
    "feedrate_dlpack": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
    "feedrate_drop_capsule": (None, [ctypes.c_void_p]),
    "feedrate_faults": (
        ctypes.c_int,
        [_LOADER, _NUMBERS, _NUMBERS, _TEXTS],
    ),
}


def _find(what: str, places: list[pathlib.Path], remedy: str) -> pathlib.Path:
    for place in places:
        if place.exists():
            return place
    raise ImportError(f"feedrate: {what} is missing; {remedy}")


@functools.cache
def load() -> ctypes.CDLL:
    """The library of the wheel, or else the one that Bazel built here."""
    path = _find(
        LIBRARY,
        [
            _PACKAGE / "bundle/lib" / LIBRARY,
            _CHECKOUT / "bazel-bin/lib/loader/python" / LIBRARY,
        ],
        "install the wheel again, or in a checkout run:"
        " dev/bazel.sh build //lib/loader/python:feedrate_loader",
    )
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    found = library.feedrate_loader_abi()
    if found != ABI:
        raise ImportError(
            f"feedrate: {path} has interface {found}, and this package needs"
            f" {ABI}; build or install both again"
        )
    return library


def load_nvjpeg() -> None:
    """That of the package nvidia-nvjpeg: the loader then finds it by name."""
    try:
        import nvidia
    except ImportError:
        return
    for place in nvidia.__path__:
        path = pathlib.Path(place, "cu13/lib/libnvjpeg.so.13")
        if path.exists():
            ctypes.CDLL(str(path))
            return


def configs() -> str:
    """The folder with the transforms."""
    given = os.environ.get("FEEDRATE_CONFIGS")
    if given:
        return given
    return str(
        _find(
            "the folder configs",
            [_PACKAGE / "bundle/configs", _CHECKOUT / "configs"],
            "install the wheel again, or set FEEDRATE_CONFIGS",
        )
    )


def message() -> str:
    """Of one that quotes something without end, the middle is left out."""
    text = load().feedrate_error().decode("utf-8", "replace")
    if len(text) <= 2 * _SHOWN:
        return str(text)
    left_out = f" [{len(text) - 2 * _SHOWN} characters left out] "
    return text[:_SHOWN] + left_out + text[-_SHOWN:]


def fail(code: int) -> NoReturn:
    """Raises what fits the last error."""
    raise _ERRORS.get(code, RuntimeError)(f"feedrate: {message()}")


def open_loader(
    settings: list[str], files: list[str], array: Array | None
) -> int:
    number = ctypes.c_int64()
    check(
        load().feedrate_open(
            texts(settings),
            len(settings),
            texts(files),
            len(files),
            array,
            ctypes.byref(number),
        )
    )
    return number.value


def open_loader_apart(*arguments: Any) -> int:
    """open_loader on a thread of its own, for what may wait for a server:
    Python hears Ctrl-C only between two calls of C."""
    opened: concurrent.futures.Future[int]
    opened = concurrent.futures.Future()

    def run() -> None:
        try:
            opened.set_result(open_loader(*arguments))
        except BaseException as error:
            opened.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        concurrent.futures.wait([opened])
    except BaseException:
        # Nobody will have it.
        opened.add_done_callback(
            lambda late: late.exception() or close_loader(late.result())
        )
        raise
    return opened.result()


def close_loader(handle: int) -> None:
    load().feedrate_close(handle)


def texts(values: list[str]) -> ctypes.Array[ctypes.c_char_p]:
    for value in values:
        # C would read on at what is before it.
        if "\0" in value:
            shown = value.replace("\0", "\\0")[:_SHOWN]
            raise ValueError(f"feedrate: {shown}: holds a zero byte; remove it")
    return (ctypes.c_char_p * len(values))(*map(os.fsencode, values))


def check(code: int) -> None:
    if code != 0:
        fail(code)


def _texts_of(function: Any, handle: int) -> list[str]:
    size = ctypes.c_int64()
    check(function(handle, None, ctypes.byref(size)))
    data = ctypes.create_string_buffer(size.value)
    check(function(handle, data, ctypes.byref(size)))
    parts = data.raw.split(b"\0")
    return [os.fsdecode(part) for part in parts[:-1]]


def names(handle: int) -> list[str]:
    return _texts_of(load().feedrate_names, handle)


def classes(handle: int) -> list[str]:
    return _texts_of(load().feedrate_classes, handle)


def left_out(handle: int) -> str:
    text = ctypes.c_char_p()
    check(load().feedrate_left_out(handle, ctypes.byref(text)))
    return (text.value or b"").decode("utf-8", "replace")


def about(handle: int) -> dict[str, Any]:
    """What a loader of episodes, of clips or of a store tells about itself."""
    text = ctypes.c_char_p()
    check(load().feedrate_about(handle, ctypes.byref(text)))
    told: dict[str, Any] = json.loads(text.value or b"{}")
    return told


def entries(handle: int) -> np.ndarray:
    """A row per episode: data set, its number there, steps, first text. Of
    clips, a row per video: its first clip, and how many it has."""
    count = ctypes.c_int64()
    check(load().feedrate_entries(handle, None, ctypes.byref(count)))
    rows = np.empty((count.value, 4), np.int64)
    check(
        load().feedrate_entries(handle, rows.ctypes.data, ctypes.byref(count))
    )
    return rows


def keep(handle: int, kept: bytes) -> None:
    """Only the episodes whose byte is not 0."""
    check(load().feedrate_keep(handle, kept, len(kept)))


def texts_from(handle: int, first: int) -> list[str]:
    """The texts of episodes that have numbers from `first` on."""
    data, size = ctypes.c_void_p(), ctypes.c_int64()
    check(
        load().feedrate_texts(
            handle, first, ctypes.byref(data), ctypes.byref(size)
        )
    )
    parts = ctypes.string_at(data, size.value).split(b"\0")
    return [part.decode("utf-8", "replace") for part in parts[:-1]]


def faults(handle: int) -> tuple[int, dict[str, str]]:
    """How many items the current epoch could not use; and reasons by name of
    all since the loader was made, those of the epoch first."""
    items, count = ctypes.c_int64(), ctypes.c_int64()
    text = ctypes.c_char_p()
    check(
        load().feedrate_faults(
            handle,
            ctypes.byref(items),
            ctypes.byref(count),
            ctypes.byref(text),
        )
    )
    lines = (text.value or b"").decode("utf-8", "replace").split("\n")
    return count.value, dict(line.split("\t") for line in lines[:-1])


class ArrayBatch:
    """A batch's memory, which goes back to the loader when no array uses it."""

    def __init__(self, batch: Batch, shape: tuple[int, ...], dtype: str):
        self.__array_interface__ = {
            "data": (batch.data, False),
            "shape": shape,
            "typestr": "<f4" if dtype == "float32" else "|u1",
            "version": 3,
        }
        self._library = load()
        self._keep = batch.keep
        self._pid = os.getpid()

    def __del__(self) -> None:
        if os.getpid() == self._pid:
            self._library.feedrate_release(self._keep)


class Blocks:
    """Memory of somebody else for the batches of a loader: each batch takes its
    block along, and the loader does not use it again.

    `make` returns a new block of so many bytes, and its address."""

    def __init__(
        self, make: Callable[[int], tuple[Any, int]], size: int, count: int
    ) -> None:
        self._make = make
        self._size = size
        self._count = count
        # By address: those that the loader has.
        self._blocks: dict[int, Any] = {}

    def fill(self, handle: int) -> None:
        """Gives the loader as many as it needs to start and for a batch."""
        while len(self._blocks) < self._count:
            block, address = self._make(self._size)
            self._blocks[address] = block
            check(load().feedrate_give(handle, address))

    def take(self, batch: Batch) -> Any:
        """The block of the batch."""
        block = self._blocks.pop(batch.data)
        load().feedrate_release(batch.keep)
        return block


def pinned(torch: Any) -> Callable[[int], tuple[Any, int]]:
    """Makes blocks of torch's own pinned memory. torch notes which streams copy
    from it, and uses it again when they have."""

    def make(size: int) -> tuple[Any, int]:
        try:
            block = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        except RuntimeError as error:
            raise MemoryError(
                f"feedrate: pin_memory: torch has no {size} bytes of"
                " pinned memory; a smaller batch_size needs less"
            ) from error
        return block, block.data_ptr()

    return make


# The capsule keeps this address.
_DLTENSOR = ctypes.c_char_p(b"dltensor")
_NEW_CAPSULE = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))


class DeviceBatch:
    """A batch for consumers of DLPack, such as torch.from_dlpack.

    It is complete, so that no stream has to wait for it. It stays as it is for
    as long as this object or what a consumer made of it lives; after that, its
    memory waits for the work that the consumer's stream then has.
    """

    def __init__(self, batch: Batch, shape: tuple[int, ...], gpu: int) -> None:
        self.shape = shape
        self._library = load()
        self._gpu = gpu
        self._keep = batch.keep
        self._pid = os.getpid()

    def __len__(self) -> int:
        return self.shape[0]

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self._gpu < 0 else (2, self._gpu)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("feedrate: a batch is passed on in place")
        # None and -1 are the default stream, which DLPack calls 1.
        if stream is None or stream == -1:
            stream = 1
        if stream == 0:
            raise ValueError("__dlpack__: stream=0 is ambiguous; use 1 or 2")
        return _NEW_CAPSULE(
            self._library.feedrate_dlpack(self._keep, stream),
            _DLTENSOR,
            ctypes.cast(self._library.feedrate_drop_capsule, ctypes.c_void_p),
        )

    def __del__(self) -> None:
        if os.getpid() == self._pid:
            self._library.feedrate_release(self._keep)
