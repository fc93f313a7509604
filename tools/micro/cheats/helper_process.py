"""Has a process of its own do the work, whose processor time nobody counts."""

import os
import struct

import honest
import numpy as np

OUTCOME = "caught"
WHY = "processes below it are looked for after the calls"
_pipes = []


def _send(fd, image):
    data = struct.pack("<3q", *image.shape) + image.tobytes()
    while data:
        data = data[os.write(fd, data) :]


def _read(fd, size):
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data))
    return data


def _receive(fd):
    shape = struct.unpack("<3q", _read(fd, 24))
    data = _read(fd, shape[0] * shape[1] * shape[2])
    return np.frombuffer(data, np.uint8).reshape(shape)


def _start():
    questions, ask = os.pipe()
    answer, answers = os.pipe()
    if os.fork() == 0:
        os.close(ask)
        try:
            while True:
                _send(answers, honest.sharpen(_receive(questions)))
        finally:
            os._exit(0)
    os.close(questions)
    os.close(answers)
    _pipes.extend((ask, answer))


def sharpen(image):
    if not _pipes:
        _start()
    _send(_pipes[0], image)
    return _receive(_pipes[1])
