"""DALI: graphs of operators; native_op is a function of nvidia.dali.fn, or
several with + between, one after the other.

It has loaders, and on a GPU a decoder of clips: its operators run in graphs, so
micro has no rows of it. Nothing here computes; loaders/recipes/dali.py makes
the graph of a loader, dali_clips.py that of the decoder.
"""

import functools

import dali_clips
import nvidia.dali
from library_support import graph_library

LOADER = "dali"

use_threads = graph_library.use_threads
threads = graph_library.threads
input_of = graph_library.input_of
make = graph_library.refuse(
    "DALI runs whole pipelines and decodes clips; it has no transforms alone"
)


def version():
    return nvidia.dali.__version__


@functools.cache
def device_of(name):
    """The object that times the device of that name. One per process: memory
    that DALI keeps from job to job counts in each."""
    if name != "cuda":
        raise ValueError(f"no device {name!r} in this worker")
    # Not at the top: the server imports this file, and must stay off CUDA.
    from devices.driver_device import DriverDevice

    return DriverDevice()


def make_decoder(command):
    if command["device"] == "cpu":
        raise ValueError("DALI decodes clips on the GPU; use device cuda")
    return dali_clips.operation(on_gpu=command["device"] == "cuda")


def array_of(output):
    return output.array(), "THWC"
