"""tf.data: graphs of operators that read, parse, decode, mix and batch.

loaders/tfdata.py makes the graph of a mixture, loaders/tfdata_images.py that of
a loader. Nothing here computes: TensorFlow starts its threads with the first
operation, after the fork.
"""

import os

# Before the import: no lines about instruction sets on standard error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# A GPU would only be initialized, and wait for nothing.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf  # noqa: E402
from library_support import graph_library  # noqa: E402

LOADER = "tfdata_images"
MIXTURE = "tfdata"

use_threads = graph_library.use_threads
threads = graph_library.threads
input_of = graph_library.input_of
make = graph_library.refuse(
    "tf.data runs loaders and mixtures; it has no transforms alone"
)


def version():
    return tf.__version__


def array_of(output):
    return output, "HWC"
