"""Grain: data sets by index, read by threads."""

from library_support.torchvision_base import (
    RECIPE,
    array_of,
    input_of,
    make,
    threads,
    use_threads,
    version_of,
)

__all__ = ["RECIPE", "array_of", "input_of", "make", "threads", "use_threads"]
LOADER = "grain"
version = version_of("grain")
