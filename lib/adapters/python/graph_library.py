"""What libraries share whose operators run in graphs of their own.

They have loaders or mixtures and nothing that could be called for one item, so
the rest of a library's module is the same for all of them.
"""


def use_threads(policy):
    """A graph has as many threads as its settings say."""


def threads():
    return 1


def input_of(array, layout):
    if layout != "HWC":
        raise ValueError(f"needs HWC, not {layout}")
    return array


def refuse(reason):
    """A `make` that has nothing to make."""

    def make(spec):
        raise ValueError(reason)

    return make
