"""DALI: graphs of operators; native_op is a function of nvidia.dali.fn, or
several with + between, one after the other.

It has loaders only: its operators run in graphs, so micro has no rows of it.
Nothing here computes; loaders/recipes/dali.py makes the graph.
"""

import nvidia.dali

LOADER = "dali"


def version():
    return nvidia.dali.__version__


def use_threads(policy):
    """A graph has as many threads as the loader has workers."""


def threads():
    return 1


def input_of(array, layout):
    if layout != "HWC":
        raise ValueError(f"needs HWC, not {layout}")
    return array


def make(spec):
    raise ValueError("DALI has loaders only")


def array_of(output):
    return output, "CHW"
