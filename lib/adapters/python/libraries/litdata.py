"""LitData: chunks of its own format, read in a stream."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "litdata"
version = version_of("litdata")
