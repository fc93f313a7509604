"""Ray Data: files read, decoded and transformed by tasks in Ray's worker
processes."""

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
LOADER = "ray_data"
version = version_of("ray")
