"""DALI: graphs of operators; native_op is a function of nvidia.dali.fn, or
several with + between, one after the other.

It has loaders only: its operators run in graphs, so micro has no rows of it.
Nothing here computes; loaders/recipes/dali.py makes the graph.
"""

import graph_library
import nvidia.dali

LOADER = "dali"

use_threads = graph_library.use_threads
threads = graph_library.threads
input_of = graph_library.input_of
make = graph_library.refuse("DALI has loaders only")


def version():
    return nvidia.dali.__version__


def array_of(output):
    return output, "CHW"
