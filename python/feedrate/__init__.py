"""feedrate measures how fast you can feed an accelerator."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Clips", "Episodes", "Loader"]

if TYPE_CHECKING:
    from feedrate.clips import Clips
    from feedrate.episodes import Episodes
    from feedrate.loader import Loader


def __getattr__(name: str) -> Any:
    # numpy and the library are loaded only by those who use a loader.
    if name in __all__:
        try:
            if name == "Clips":
                from feedrate.clips import Clips as found
            elif name == "Episodes":
                from feedrate.episodes import Episodes as found
            else:
                from feedrate.loader import Loader as found
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            raise ImportError(
                f"feedrate.{name} needs numpy; run: pip install"
                " 'feedrate[loader]', or pip install numpy"
            ) from None
        return found
    raise AttributeError(f"module 'feedrate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
