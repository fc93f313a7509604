"""The arguments of feedrate: checked, and as settings of the library."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    # A transform by its name, alternatives of which one is drawn, or one of
    # these with its probability.
    Step = str | Sequence[str] | tuple[str | Sequence[str], float]
    Labels = (
        None | Sequence[int] | Sequence[str] | np.ndarray | Callable[[str], int]
    )


# Usual numbers of channels.
CHANNELS = (1, 3, 4, 9)
# More threads than any machine gives to a process.
MOST_WORKERS = 1 << 17
# Of an image: a JPEG's.
MOST_SIDE = 65535
# Characters of a value in a message.
MOST_SHOWN = 80


def wrong(name: str, value: object, allowed: str) -> ValueError:
    shown = " ".join(repr(value).split())
    if len(shown) > MOST_SHOWN:
        shown = f"{shown[:MOST_SHOWN]}..."
    return ValueError(
        f"feedrate: {name}={shown} is not possible; use {allowed}"
    )


def wrong_type(name: str, value: object, allowed: str) -> TypeError:
    return TypeError(str(wrong(name, value, allowed)))


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_, int, float, np.number)) or (
        value not in (0, 1)
    ):
        raise wrong_type(name, value, "True or False")
    return bool(value)


def whole(name: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    try:
        # True is an answer, not the number 1.
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        end = "on" if most == 2**63 - 1 else f"to {most}"
        raise wrong(name, value, f"a whole number from {least} {end}")
    return number


def workers(given: Any, alias: Any, gpu: bool) -> int:
    """Their number; `alias` is DataLoader's word."""
    if given is None:
        given = alias
    elif alias is not None and alias != given:
        raise wrong("num_workers", alias, "only one of workers and num_workers")
    if given is not None:
        return whole("workers", given, 0, MOST_WORKERS)
    cpus = len(os.sched_getaffinity(0))
    # With a GPU, three feed the decoders, and one is the caller's.
    return max(1, cpus - 4) if gpu else cpus


def size(name: str, value: Any) -> tuple[int, int]:
    """Height and width."""
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        if len(value) != 2:
            raise wrong(name, value, "one number, or (height, width)")
        height, width = (whole(name, one, 1, MOST_SIDE) for one in value)
        return height, width
    side = whole(name, value, 1, MOST_SIDE)
    return side, side


def crop(value: Any) -> tuple[int, int]:
    return size("crop", value)


def dtype(value: Any) -> str:
    """By its name, as numpy's or as torch's."""
    name = value
    if not isinstance(value, str):
        try:
            name = np.dtype(value).name
        except TypeError:
            name = str(value)
        name = name.rpartition("torch.")[2]
    if name not in ("float32", "uint8"):
        raise wrong("dtype", value, "float32 or uint8")
    return name


def path(name: str, value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        raise wrong_type(name, value, "a path") from None


def folder(name: str, value: Any) -> str:
    """Empty for None."""
    return "" if value is None else path(name, value)


def word(name: str, value: str, words: str) -> str:
    if value not in words.split():
        raise wrong(name, value, " or ".join(words.split()))
    return value


def numbers(name: str, value: float | Sequence[float]) -> str:
    try:
        numbers = np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.size == 0 or numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise wrong(name, value, "a number, or one per channel")
    if name == "std" and numbers.min() <= 0:
        raise wrong(name, value, "numbers above 0")
    return ",".join(repr(float(number)) for number in numbers)


def device(value: Any, torch: Any) -> int:
    """Number of the GPU; -1 is the CPU."""
    text = str(value)
    if text == "cpu":
        return -1
    kind, _, number = text.partition(":")
    if kind != "cuda" or (text != "cuda" and not number.isdecimal()):
        raise wrong("device", value, '"cpu", "cuda" or "cuda:1"')
    if number:
        return int(number)
    if torch is not None and torch.cuda.is_available():
        return int(torch.cuda.current_device())
    return 0


def for_gpu(output: str, pin_memory: bool) -> None:
    """Raises for what is only made on the CPU."""
    if output == "numpy":
        raise wrong("output", output, '"torch" or "dlpack", or device="cpu"')
    if pin_memory:
        raise wrong("pin_memory", True, 'it with device="cpu" only')


def torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            'feedrate: output="torch" needs torch; install it, or pass'
            ' output="numpy"'
        ) from error
    return torch


def steps(transforms: str | Sequence[Step] | None) -> list[str]:
    if transforms is None:
        return []
    if isinstance(transforms, str):
        transforms = [transforms]
    allowed = (
        "names of docs/transform_sets/rgb.md, lists of them, and (name,"
        " probability); a function of your own takes the batch that the loader"
        " gives you"
    )
    if not isinstance(transforms, Sequence):
        raise wrong_type("transforms", transforms, allowed)
    lines = []
    for step in transforms:
        chance: Any = 1.0
        names: Any = step
        if isinstance(step, tuple):
            if len(step) != 2 or not isinstance(step[1], (int, float)):
                raise wrong("transforms", step, "(name, probability)")
            names, chance = step
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, Sequence) or not all(
            isinstance(name, str) for name in names
        ):
            raise wrong_type("transforms", step, allowed)
        lines.append(f"step={float(chance)!r} {'|'.join(names)}")
    return lines


def store_settings(kind: str, **given: Any) -> list[str]:
    found = {k: v for k, v in given.items() if v is not None}
    if found and kind != "store":
        name = next(iter(found)).replace("folder", "dir")
        raise wrong(
            name, next(iter(found.values())), "it with an address such as s3://"
        )
    return [
        f"{name}={path('cache_dir', v) if name == 'cache_folder' else v}"
        for name, v in found.items()
    ]


def classes(labels: Any) -> list[str]:
    """The names of classes, if that is what labels are."""
    if isinstance(labels, (list, tuple)) and labels:
        if all(isinstance(name, str) for name in labels):
            return list(labels)
    return []


def index(index: Any, kind: str, folder: str) -> str:
    """The file of an index; empty for none."""
    if index is False or index is None:
        return ""
    if index is not True:
        return path("index", index)
    if kind != "folder":
        raise wrong(
            "index", index, "the path of a file, as this is not a folder"
        )
    return os.path.join(folder, "feedrate.jpegindex")


def source(
    source: Any, has_arrays: bool = True
) -> tuple[str, str, list[str], np.ndarray | None]:
    """(kind, path, files, array) of what the user gave."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if "://" in path:
            return "store", path, [], None
        if path.endswith(".tar"):
            return "shards", path, [path], None
        return "folder", path, [], None
    is_array = hasattr(source, "__array__")
    is_array = is_array or hasattr(source, "__array_interface__")
    if has_arrays and is_array:
        array = np.asarray(source)
        if array.dtype != np.uint8 or array.ndim != 4 or array.size == 0:
            raise ValueError(
                f"feedrate: source: an array of {array.dtype} and shape"
                f" {array.shape} is not possible; use uint8 of (N, H, W, C)"
            )
        if array.shape[1] in CHANNELS and array.shape[3] not in CHANNELS:
            raise ValueError(
                f"feedrate: source: an array of shape {array.shape}"
                " seems to be (N, C, H, W); use (N, H, W, C), as of"
                " array.transpose(0, 2, 3, 1)"
            )
        return "array", "the array", [], np.ascontiguousarray(array)
    try:
        files = [os.fspath(path) for path in source]
    except TypeError:
        raise wrong_type(
            "source",
            source,
            "a folder, the path of a shard, a list of files, an address such as"
            f" s3://{', or an array of uint8 (N, H, W, C)' * has_arrays}",
        ) from None
    if not files:
        raise ValueError(
            "feedrate: source: the list is empty; name files or shards"
        )
    if any("://" in path for path in files):
        raise ValueError(
            "feedrate: source: a list cannot hold addresses; use one"
            " address with a list in it, as in https://host/{000..099}.tar"
        )
    shards = [path.endswith(".tar") for path in files]
    if any(shards) and not all(shards):
        raise ValueError(
            "feedrate: source: the list has shards and other files; make a"
            " loader for each"
        )
    kind = "shards" if any(shards) else "files"
    if len({os.path.isabs(path) for path in files}) == 2:
        files = [os.path.abspath(path) for path in files]
    root = os.path.commonpath([os.path.dirname(f) for f in files] or [""])
    return kind, root, files, None
