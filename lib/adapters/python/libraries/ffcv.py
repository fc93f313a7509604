"""FFCV: a file of its own format, decoded and augmented by threads whose code
numba compiles. loaders/ffcv.py makes file and loader."""

import importlib.metadata

from library_support import graph_library

LOADER = "ffcv"

use_threads = graph_library.use_threads
threads = graph_library.threads
input_of = graph_library.input_of
make = graph_library.refuse("FFCV runs loaders; it has no transforms alone")


def version():
    return importlib.metadata.version("ffcv")


def array_of(output):
    return output, "CHW"
