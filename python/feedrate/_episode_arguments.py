"""The arguments of feedrate.Episodes: checked, and as settings of the
library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from feedrate import _arguments


def sources(sources: Any, has_cache: bool) -> list[str]:
    """WEIGHT tab PATH each; without a weight if none was given."""
    allowed = (
        "a folder, the path of a mixture.textproto, a list of folders, or a"
        " dict of folders and weights"
    )
    if isinstance(sources, (str, os.PathLike)):
        given: list[tuple[Any, Any]] = [(sources, None)]
    elif isinstance(sources, Mapping):
        given = list(sources.items())
    elif isinstance(sources, Sequence):
        given = [(path, None) for path in sources]
    else:
        raise _arguments.wrong_type("sources", sources, allowed)
    lines = []
    for path, weight in given:
        if not isinstance(path, (str, os.PathLike)):
            raise _arguments.wrong_type("sources", sources, allowed)
        text = os.fspath(path)
        text = text.removeprefix("file://")
        if "://" in text and not has_cache:
            raise _arguments.wrong(
                "sources", text, "cache_dir too: the data is copied there"
            )
        if weight is None:
            lines.append(f"\t{text}")
            continue
        try:
            number = float(weight)
        except (TypeError, ValueError):
            number = 0.0
        if not 0 < number < float("inf"):
            raise _arguments.wrong(
                "sources", {text: weight}, "a weight above 0"
            )
        lines.append(f"{number!r}\t{text}")
    if not lines:
        raise _arguments.wrong("sources", sources, allowed)
    return lines


def is_wanted(offsets: Any) -> bool:
    """Whether the caller relies on a part."""
    return offsets is not None and offsets is not False


def features(argument: str, given: Any) -> list[str]:
    """Cameras or numbers, as episode_settings.cc has them."""
    if given is None and argument == "cameras":
        return ["image\t"]
    allowed = (
        'a list of names, or a dict such as {"hand": "wrist"} or'
        ' {"hand": {"bridge": "image_1"}}'
    )
    if isinstance(given, Mapping):
        lines = []
        for key, name in given.items():
            if isinstance(name, Mapping) and name:
                lines += [f"{key}\t{one}\t{name[one]}" for one in name]
            elif isinstance(name, str) and name:
                lines.append(f"{key}\t{name}")
            else:
                raise _arguments.wrong(argument, given, allowed)
        return lines
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise _arguments.wrong_type(argument, given, allowed)
    if not all(isinstance(name, str) and name for name in given):
        raise _arguments.wrong(argument, given, allowed)
    return list(given)


def numbers(name: str, given: Any) -> list[float]:
    """Whole numbers if all are, otherwise floats: seconds."""
    try:
        array = np.asarray(given if hasattr(given, "dtype") else list(given))
    except TypeError:
        array = np.empty((0, 0))
    if (
        array.ndim != 1
        or array.size == 0
        or array.dtype.kind not in "iuf"
        or not np.isfinite(array).all()
    ):
        raise _arguments.wrong(
            name, given, "a list of offsets, as [-1, 0] or range(16), or None"
        )
    values: list[float] = array.tolist()
    return values
