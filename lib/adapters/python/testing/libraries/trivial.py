"""A library without a package: what a library file must have, and faults on
purpose. native_op is the name of a function below."""

import os
import signal
import sys
import time

from operation import Operation
from params import Params


def version():
    return "1.0"


def use_threads(policy):
    """Nothing has threads here."""


def threads():
    return 1


def input_of(array, layout):
    return array


def array_of(output):
    return output, "HWC"


def make(spec):
    arguments = Params(spec["params"]).take_rest()
    return Operation(arguments.bind(globals()[spec["native_op"]]))


def invert(image):
    return 255 - image


def add(image, amount):
    return image + type(image.flat[0])(amount)


def fail(image):
    raise RuntimeError("on purpose\nover two lines")


def leave(image):
    sys.exit("library left")


def shout(image):
    print("on standard output")
    print("on standard error", file=sys.stderr, flush=True)
    return image


def crash(image):
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(image):
    time.sleep(3600)


def address(image):
    """Where the input is, in the first eight bytes of an output."""
    import numpy as np

    place = np.array([image.__array_interface__["data"][0]], dtype="<u8")
    return place.view(np.uint8).reshape(1, 1, 8)
