"""The shared part of libraries whose operators run in their own graphs.

They have loaders or mixtures and nothing that could be called for one item, so
the rest of the module is the same for all of them.
"""


def use_threads(policy):
    """Does nothing: the settings of a graph decide its threads."""


def threads():
    return 1


def input_of(array, layout):
    if layout != "HWC":
        raise ValueError(f"needs HWC, not {layout}")
    return array


def refuse(reason):
    """A `make` that only raises an error."""

    def make(spec):
        raise ValueError(reason)

    return make
