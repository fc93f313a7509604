"""A library whose package is missing from the environment."""

import absent_package  # noqa: F401
