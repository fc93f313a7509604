"""SPDL: pipelines of threads."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "spdl"
version = version_of("spdl-core")
