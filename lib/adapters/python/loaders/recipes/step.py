"""The measured transform as a step of a recipe."""

from operation import Operation


def operation_of(library, command, spec):
    """What the library makes of the catalogue's entry; with a transform of the
    batch, items get none."""
    if spec.batch_transform:
        return Operation(lambda image: image, native=None)
    return library.make(command)
