"""torchdata: a DataLoader with a state."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "torchdata"
version = version_of("torchdata")
