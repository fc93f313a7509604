"""What a library file makes of one entry of configs/transforms."""

import functools


class Operation:
    """call(input) gives the materialised, contiguous output; it is what is
    timed. seed(value) seeds whatever the operation draws from. fresh(input), if
    given, makes the input of each call, untimed: for operations that overwrite
    it. native, if given, is the same in the library's own terms, for a loader's
    recipe that puts it between other steps of the library."""

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
