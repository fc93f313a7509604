"""The shared part of loaders without transforms of their own: those, and the
decoder, are torchvision's."""

import pathlib
from importlib import metadata

import server

# What each of them has besides its loader and its version.
__all__ = ["RECIPE", "array_of", "input_of", "make", "threads", "use_threads"]

RECIPE = "torchvision"

_folder = pathlib.Path(__file__).resolve().parent.parent / "libraries"
_base = server.load_library("torchvision", [_folder])
array_of = _base.array_of
input_of = _base.input_of
make = _base.make
threads = _base.threads
use_threads = _base.use_threads


def version_of(package):
    """A function `version`."""
    return lambda: metadata.version(package)
