"""MosaicML Streaming: shards of its own format, read in a stream."""

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
LOADER = "streaming"
version = version_of("mosaicml-streaming")
