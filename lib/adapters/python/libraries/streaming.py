"""MosaicML Streaming: shards of its own format, read in a stream."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "streaming"
version = version_of("mosaicml-streaming")
