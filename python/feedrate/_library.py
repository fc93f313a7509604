"""The C functions of lib/loader/python/c_api.h, through ctypes.

ctypes releases the interpreter's lock during every call, needs no header of
Python, and one library serves every version of it.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import os
import pathlib
import threading
from typing import Any, NoReturn

ABI = 2
LIBRARY = "libfeedrate_loader.so"
_PACKAGE = pathlib.Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent

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


PIN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
)
UNPIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Pinning(ctypes.Structure):
    _fields_ = [("pin", PIN), ("unpin", UNPIN)]


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
            ctypes.POINTER(Pinning),
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "feedrate_close": (None, [ctypes.c_void_p]),
    "feedrate_size": (ctypes.c_int64, [ctypes.c_void_p]),
    "feedrate_names": (ctypes.c_void_p, [ctypes.c_void_p, _NUMBERS]),
    "feedrate_labels": (None, [ctypes.c_void_p, ctypes.c_void_p]),
    "feedrate_shape": (None, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32)]),
    "feedrate_count": (ctypes.c_int64, [ctypes.c_void_p, ctypes.c_int64]),
    "feedrate_start": (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64],
    ),
    "feedrate_next": (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_double, ctypes.POINTER(Batch)],
    ),
    "feedrate_release": (None, [ctypes.c_void_p]),
    "feedrate_dlpack": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
    "feedrate_drop_capsule": (None, [ctypes.c_void_p]),
    "feedrate_stop": (None, [ctypes.c_void_p]),
    "feedrate_faults": (ctypes.c_int64, [ctypes.c_void_p, _TEXTS]),
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
    text: bytes = load().feedrate_error()
    return text.decode("utf-8", "replace")


def fail(code: int) -> NoReturn:
    """Raises what fits the last error."""
    raise _ERRORS.get(code, RuntimeError)(f"feedrate.Loader: {message()}")


def open_loader(
    settings: list[str],
    files: list[str],
    array: Array | None,
    pinning: Pinning | None,
) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    code = load().feedrate_open(
        texts(settings),
        len(settings),
        texts(files),
        len(files),
        array,
        pinning,
        ctypes.byref(handle),
    )
    if code != 0:
        fail(code)
    return handle


def open_loader_apart(*arguments: Any) -> ctypes.c_void_p:
    """open_loader on a thread of its own, for what may wait for a server:
    Python hears Ctrl-C only between two calls of C."""
    opened: concurrent.futures.Future[ctypes.c_void_p]
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


def close_loader(handle: ctypes.c_void_p) -> None:
    load().feedrate_close(handle)


def texts(values: list[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(values))(*map(os.fsencode, values))


def names(handle: ctypes.c_void_p) -> list[str]:
    size = ctypes.c_int64()
    data = load().feedrate_names(handle, ctypes.byref(size))
    parts = ctypes.string_at(data, size.value).split(b"\0")
    return [os.fsdecode(part) for part in parts[:-1]]


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
            raise BufferError("feedrate.Loader: a batch is passed on in place")
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
