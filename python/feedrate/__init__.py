"""feedrate measures how fast you can feed an accelerator."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Loader"]

if TYPE_CHECKING:
    from feedrate.loader import Loader


def __getattr__(name: str) -> Any:
    # numpy and the library are loaded only by those who use the loader.
    if name == "Loader":
        try:
            from feedrate.loader import Loader
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            raise ImportError(
                "feedrate.Loader needs numpy; run: pip install"
                " 'feedrate[loader]', or pip install numpy"
            ) from None
        return Loader
    raise AttributeError(f"module 'feedrate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
