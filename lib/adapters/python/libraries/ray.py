"""Ray Data: files read, decoded and transformed by tasks in Ray's worker
processes."""

from library_support.torchvision_base import *  # noqa: F403
from library_support.torchvision_base import version_of

LOADER = "ray_data"
version = version_of("ray")
