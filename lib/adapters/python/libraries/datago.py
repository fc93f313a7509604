"""datago: files read and decoded by threads in Rust."""

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
LOADER = "datago"
version = version_of("datago")
