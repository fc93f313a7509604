"""WebDataset: tar files read in a stream. It has no transforms of its own; they
and the decoder are torchvision's."""

import pathlib
from importlib import metadata

import server

LOADER = "webdataset"
RECIPE = "torchvision"

_base = server.load_library("torchvision", [pathlib.Path(__file__).parent])
array_of = _base.array_of
input_of = _base.input_of
make = _base.make
threads = _base.threads
use_threads = _base.use_threads


def version():
    return metadata.version("webdataset")
