"""An entry of configs/transforms as an operation of a library."""

import functools


class Operation:
    """call(input) returns the materialized, contiguous output; it is the timed
    part. seed(value) seeds the generators that the operation draws from.
    fresh(input), if given, makes the input of each call, untimed: for
    operations that overwrite it. native, if given, is the same as an object of
    the library, for a loader's recipe that puts it between other steps of the
    library."""

    def __init__(self, call, seed=lambda value: None, fresh=None, native=None):
        self.call = call
        self.seed = seed
        self.fresh = fresh
        self.native = native


def find(module, path):
    """module.a.b for the path "a.b"; the error names the whole path."""
    try:
        return functools.reduce(getattr, path.split("."), module)
    except AttributeError:
        raise LookupError(f"{module.__name__} has no {path}") from None


def operation_of(library, command, spec):
    """The measured transform as a step of a loader's recipe: what the library
    makes of the catalogue's entry. With a transform of the batch, items get
    none."""
    if spec.batch_transform:
        return Operation(lambda image: image, native=None)
    return library.make(command)
