"""feedrate measures how fast you can feed an accelerator."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Loader"]

if TYPE_CHECKING:
    from feedrate.loader import Loader


def __getattr__(name: str) -> Any:
    # numpy and the library are loaded only by those who use the loader.
    if name == "Loader":
        from feedrate.loader import Loader

        return Loader
    raise AttributeError(f"module 'feedrate' has no attribute {name!r}")
