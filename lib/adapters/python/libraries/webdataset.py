"""WebDataset: tar files read in a stream."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "webdataset"
version = version_of("webdataset")
