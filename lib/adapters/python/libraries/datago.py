"""datago: files read and decoded by threads in Rust."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "datago"
version = version_of("datago")
