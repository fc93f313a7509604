"""tf.data: graphs of operators that read, parse, decode, mix and batch.

It has mixtures only; loaders/tfdata.py makes the graph. Nothing here computes:
TensorFlow starts its threads with the first operation, after the fork.
"""

import os

# Before the import: no lines about instruction sets on standard error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# A GPU would only be initialised, and wait for nothing.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf  # noqa: E402

MIXTURE = "tfdata"


def version():
    return tf.__version__


def use_threads(policy):
    """A graph has as many threads as the mixture's settings say."""


def threads():
    return 1


def input_of(array, layout):
    if layout != "HWC":
        raise ValueError(f"needs HWC, not {layout}")
    return array


def make(spec):
    raise ValueError("tf.data has mixtures only")


def array_of(output):
    return output, "HWC"
