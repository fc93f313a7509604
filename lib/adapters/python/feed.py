#!/usr/bin/env python3
"""Feeds a training with batches of another library's loader.

    feed.py loader=dali files=LIST memory=FILE slots=4 batch_size=32 ...

What worker_train starts in scope e2e (lib/model/worker/fed_batches.h has the
protocol): batches go into the slots of a shared memory, epoch after epoch, in
an order that is drawn anew, last batches that are not full left out. Descriptor
3 says which slot is full and hears which may be filled again.

A loader is a module feeders/NAME.py with batches(paths, options): an iterator
without an end of (images, numbers), arrays of float32 CHW and of the images'
numbers in `paths`. With `gpu_memory`, the handle of slots on the first GPU,
images are tensors of DALI on it.
"""

import collections
import ctypes
import dataclasses
import importlib
import mmap
import os
import socket
import sys
import traceback

import process_setup

LOADERS = {"dali": "dali", "dali_gpu": "dali", "torchvision": "torchvision"}
CHANNELS = 3
RECIPE = "recipe."
# All recipes normalize with them; as in configs/policy.textproto.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclasses.dataclass
class Options:
    loader: str
    files: str
    memory: str
    slots: int
    batch_size: int
    image_size: int
    workers: int
    seed: int = 0
    gpu_memory: str = ""
    # For dali: whether the decoder crops, "0" or "1"; empty: if it can.
    fused_decode: str = ""
    # Steps after the crop, as configs/transforms/ has them. Empty: a flip.
    recipe: list = dataclasses.field(default_factory=list)


def parse(words):
    types = {f.name: f.type for f in dataclasses.fields(Options)}
    given = {}
    recipe = []
    for word in words:
        if word.startswith(RECIPE):
            recipe.append(word.removeprefix(RECIPE))
            continue
        name, equals, value = word.partition("=")
        if not equals or name not in types:
            raise ValueError(f'"{word}" is not a word of feed.py')
        given[name] = types[name](value)
    options = Options(**given, recipe=recipe)
    if options.loader not in LOADERS:
        raise ValueError(
            f'no loader "{options.loader}"; there are {", ".join(LOADERS)}'
        )
    return options


class IpcHandle(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = (("reserved", ctypes.c_char * 64),)


def open_gpu_memory(text):
    """The address of another process's memory on the first GPU."""
    from devices import driver_device

    driver = driver_device.Driver()
    driver_device.use_first_device(driver)
    handle = IpcHandle.from_buffer_copy(bytes.fromhex(text))
    address = ctypes.c_uint64()
    # 1, the only flag: access between GPUs is set up when it is needed.
    driver.call("cuIpcOpenMemHandle_v2", ctypes.byref(address), handle, 1)
    return address.value


class Slots:
    """The shared memory, and the messages about its slots."""

    def __init__(self, options, control):
        import numpy as np

        side, batch, slots = (
            options.image_size,
            options.batch_size,
            options.slots,
        )
        fd = os.open(options.memory, os.O_RDWR)
        memory = mmap.mmap(fd, 0)
        os.close(fd)
        shape = (slots, batch, CHANNELS, side, side)
        self._slot_bytes = 4 * batch * CHANNELS * side * side
        size = 0
        self._gpu = None
        if options.gpu_memory:
            self._gpu = open_gpu_memory(options.gpu_memory)
        else:
            size = slots * self._slot_bytes
            self._images = np.frombuffer(memory, np.float32, size // 4)
            self._images = self._images.reshape(shape)
        self._numbers = np.frombuffer(memory, np.int64, slots * batch, size)
        self._numbers = self._numbers.reshape(slots, batch)
        self._free = collections.deque(range(slots))
        self._control = control
        self._heard = b""

    def put(self, images, numbers):
        """Waits for a slot. False when nobody reads any more."""
        while not self._free:
            data = self._control.recv(4096)
            if not data:
                return False
            *lines, self._heard = (self._heard + data).split(b"\n")
            self._free.extend(map(int, lines))
        slot = self._free.popleft()
        if self._gpu is None:
            self._images[slot] = images
        else:
            # Returns when the GPU has copied it.
            to = ctypes.c_void_p(self._gpu + slot * self._slot_bytes)
            images.copy_to_external(to)
        self._numbers[slot] = numbers
        self._control.sendall(f"slot {slot}\n".encode())
        return True


def feed(options, control):
    from loaders.source import read_list

    fd = os.open(options.files, os.O_RDONLY)
    paths = read_list(fd)
    os.close(fd)
    if len(paths) < options.batch_size:
        raise ValueError(
            f"{len(paths)} images for a batch of {options.batch_size}"
        )
    feeder = importlib.import_module(f"feeders.{LOADERS[options.loader]}")
    slots = Slots(options, control)
    for images, numbers in feeder.batches(paths, options):
        if not slots.put(images, numbers):
            return


def main():
    process_setup.avoid_hidden_sve()
    control = socket.socket(fileno=3)
    try:
        feed(parse(sys.argv[1:]), control)
    except (BrokenPipeError, ConnectionResetError):
        pass  # The training has ended.
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}".replace("\n", " ")
        control.sendall(f"error {text[:500]}\n".encode())
    # Workers and threads of a loader end with their process.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
