"""Kornia on batches on a GPU, compiled by torch.compile: in a loader with the
normalization that follows. Batches have one size: Kornia looks at it, so
another one is compiled again. What Dynamo cannot trace stays as it is."""

import os

import torch
from libraries import kornia as eager
from libraries.kornia import (  # noqa: F401
    array_of,
    batch_of_clips,
    device_of,
    input_of,
    quiet,
    threads,
    use_threads,
    version,
)
from loaders.source import cache_folder

RECIPE = "kornia"


def make(spec):
    made = eager.make(spec)
    # A loader compiles all that is left to do with a batch.
    if "loader" not in spec:
        made.call = compiled(made.call)
        made.native = made.native and compiled(made.native)
    return made


def compiled(call):
    # Not under /tmp, where its default name can be foreseen.
    folder = str(cache_folder("inductor"))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", folder)
    # Not at the top: the server, which imports this file, forks.
    from torch._inductor import config

    config.compile_threads = 1
    # The draws of Kornia as it is, so that outputs can be compared.
    config.fallback_random = True
    return torch.compile(call)
