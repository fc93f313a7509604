"""Tries to get at the network, at files, at the runner and at its clock."""

import contextlib
import ctypes
import os
import pathlib
import signal
import socket

import honest

OUTCOME = "harmless"
WHY = "where the kernel can confine it, none of this is possible"
_tried = []


def _ancestors():
    """The server, which has forked this process, and the runner."""
    pid = os.getpid()
    for _ in range(2):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        pid = int(status.split("PPid:")[1].split()[0])
        yield pid


def _network():
    # Somebody answers there, if only with a refusal.
    with (
        socket.socket() as one,
        contextlib.suppress(ConnectionRefusedError),
    ):
        one.connect(("127.0.0.1", 9))


def _files():
    (pathlib.Path(honest.__file__).parent / "left_behind").write_text("here")


def _reference():
    with open(honest.__file__, "a", encoding="utf-8") as file:
        file.write("\n")


def _memory_of_the_runner():
    *_, runner = _ancestors()
    with open(f"/proc/{runner}/mem", "rb") as file:
        file.fileno()


def _files_of_the_runner():
    *_, runner = _ancestors()
    for fd in os.listdir(f"/proc/{runner}/fd"):
        os.readlink(f"/proc/{runner}/fd/{fd}")


def _signals():
    *_, runner = _ancestors()
    os.kill(runner, signal.SIGCONT)


def _clock():
    # Sets the frequency to what it is.
    class Timex(ctypes.Structure):
        _fields_ = [("modes", ctypes.c_uint), ("rest", ctypes.c_long * 32)]

    libc = ctypes.CDLL(None, use_errno=True)
    timex = Timex()
    libc.adjtimex(ctypes.byref(timex))
    timex.modes = 2
    if libc.adjtimex(ctypes.byref(timex)) < 0:
        raise OSError(ctypes.get_errno(), "adjtimex")


def _escape():
    for way in (
        _network,
        _files,
        _reference,
        _memory_of_the_runner,
        _files_of_the_runner,
        _signals,
        _clock,
    ):
        try:
            way()
        except OSError:
            continue
        raise RuntimeError(f"escaped:{way.__name__}")


def sharpen(image):
    if not _tried:
        _tried.append(1)
        _escape()
    return honest.sharpen(image)
