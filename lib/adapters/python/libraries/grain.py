"""Grain: data sets by index, read by threads."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "grain"
version = version_of("grain")
