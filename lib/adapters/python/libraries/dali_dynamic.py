"""DALI's imperative mode: operators of nvidia.dali.experimental.dynamic, called
for one batch after the other."""

import nvidia.dali
from library_support import graph_library

LOADER = "dali_dynamic"

use_threads = graph_library.use_threads
threads = graph_library.threads
input_of = graph_library.input_of
make = graph_library.refuse("DALI's imperative mode has loaders only")


def version():
    return nvidia.dali.__version__


def array_of(output):
    return output, "HWC"
