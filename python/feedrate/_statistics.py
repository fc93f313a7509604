"""Means, deviations and quantiles of actions and states, by data set: computed,
kept in a file, or those that LeRobot has."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

# Steps whose quantiles are computed.
_MOST_SAMPLED = 1 << 18
_QUANTILES = (1, 10, 50, 90, 99)


class _Rows:
    """What was seen of one part of one data set."""

    def __init__(self, width: int, every: int) -> None:
        self._every = every
        self._count = 0
        self._mean = np.zeros(width)
        # Sum of squared differences from the mean.
        self._squares = np.zeros(width)
        self._min = np.full(width, np.inf)
        self._max = np.full(width, -np.inf)
        self._sampled: list[np.ndarray] = []

    def add(self, rows: np.ndarray) -> None:
        first = -self._count % self._every
        self._sampled.append(rows[first :: self._every].copy())
        values = rows.astype(np.float64)
        mean = values.mean(0)
        squares = ((values - mean) ** 2).sum(0)
        # Chan, Golub and LeVeque's way to join two sums.
        total = self._count + len(values)
        apart = mean - self._mean
        self._squares += squares + apart**2 * self._count * len(values) / total
        self._mean += apart * len(values) / total
        self._count = total
        self._min = np.minimum(self._min, values.min(0))
        self._max = np.maximum(self._max, values.max(0))

    def found(self) -> dict[str, Any]:
        sampled = np.concatenate(self._sampled)
        quantiles = np.percentile(sampled, _QUANTILES, axis=0)
        return {
            "count": self._count,
            "mean": self._mean.tolist(),
            "std": np.sqrt(self._squares / self._count).tolist(),
            "min": self._min.tolist(),
            "max": self._max.tolist(),
            **{
                f"q{percent:02}": values.tolist()
                for percent, values in zip(_QUANTILES, quantiles, strict=True)
            },
        }


def _widths(dataset: dict[str, Any]) -> dict[str, int]:
    """Of the parts that have statistics."""
    widths = {
        "action": dataset["action_width"],
        "state": dataset["state_width"],
        **dataset["number_widths"],
    }
    return {key: width for key, width in widths.items() if width > 0}


def of(
    batches: Iterable[dict[str, Any]], datasets: list[dict[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Of all steps once, in any order."""
    parts: list[dict[str, _Rows]] = [{} for _ in datasets]
    for batch in batches:
        for number in np.unique(batch["dataset"]):
            dataset = datasets[number]
            chosen = batch["dataset"] == number
            for key, width in _widths(dataset).items():
                if key not in batch:
                    continue
                every = -(-dataset["steps"] // _MOST_SAMPLED)
                rows = parts[number].setdefault(key, _Rows(width, every))
                values = batch[key][chosen]
                rows.add(values.reshape(len(values), -1)[:, :width])
    return {
        dataset["name"]: {key: rows.found() for key, rows in found.items()}
        for dataset, found in zip(datasets, parts, strict=True)
    }


Statistics = dict[str, dict[str, dict[str, Any]]]


def kept(
    path: str,
    datasets: list[dict[str, Any]],
    wanted: set[str],
    compute: Callable[[], Statistics],
) -> Statistics:
    """What the file has, or else what is computed, and then written to it. All
    or nothing of it is there, also if several processes write it."""
    file = pathlib.Path(path)
    if not file.exists():
        computed = compute()
        with tempfile.NamedTemporaryFile(
            "w", dir=file.parent, prefix=f".{file.name}.", delete=False
        ) as new:
            try:
                json.dump(computed, new, indent=1)
                new.close()
                os.chmod(new.name, 0o644)
                os.replace(new.name, file)
            except BaseException:
                os.unlink(new.name)
                raise
    try:
        found: Statistics = json.loads(file.read_text())
        has = {
            name: {
                key: (one["count"], len(one["mean"]))
                for key, one in parts.items()
            }
            for name, parts in found.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            f"feedrate: {file} has no statistics; name another file, or delete"
            " it to have them computed again"
        ) from None
    for dataset in datasets:
        needs = {
            key: (dataset["steps"], width)
            for key, width in _widths(dataset).items()
            if key in wanted
        }
        if has.get(dataset["name"]) != needs:
            raise ValueError(
                f"feedrate: {file} has statistics of other data than that of"
                f' "{dataset["name"]}" ({dataset["steps"]} steps with'
                f" {', '.join(needs) or 'no numbers'}); name another file, or"
                " delete it to have them computed again"
            )
    return found


def of_lerobot(datasets: list[dict[str, Any]]) -> Statistics:
    """What meta/stats.json (v2.0, v3.0) or meta/episodes_stats.jsonl (v2.1)
    says of the features that the parts are."""
    found: Statistics = {}
    for dataset in datasets:
        meta = pathlib.Path(dataset["folder"], "meta")
        whole, episodes = meta / "stats.json", meta / "episodes_stats.jsonl"
        try:
            if whole.exists():
                stats = json.loads(whole.read_text())
            elif episodes.exists():
                lines = episodes.read_text().splitlines()
                stats = _joined([json.loads(line)["stats"] for line in lines])
            else:
                raise FileNotFoundError(
                    f"feedrate: {meta} has no stats.json and no"
                    " episodes_stats.jsonl; call statistics() without lerobot"
                )
            if not isinstance(stats, dict):
                raise TypeError
            found[dataset["name"]] = {
                key: _row([stats[name] for name in features])
                for key, features in dataset["features"].items()
                if features and all(name in stats for name in features)
            }
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise ValueError(
                f"feedrate: {meta}: its statistics are not as lerobot writes"
                " them; call statistics() without lerobot"
            ) from None
    return found


def _row(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Of features that follow each other in a row. Those of frames have axes
    for height and width."""
    row: dict[str, Any] = {}
    for key in parts[0]:
        if key == "count":
            row[key] = int(np.ravel(parts[0][key])[0])
        else:
            values = [np.ravel(part[key]) for part in parts]
            row[key] = np.concatenate(values).astype(float).tolist()
    return row


def _joined(episodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Statistics of all episodes, as lerobot's aggregate_stats joins them."""
    joined = {}
    for name in episodes[0]:
        parts = [
            {key: np.asarray(value) for key, value in one[name].items()}
            for one in episodes
        ]
        counts = np.stack([one["count"] for one in parts]).ravel()
        shape = (-1, *[1] * parts[0]["mean"].ndim)
        share = (counts / counts.sum()).reshape(shape)
        means = np.stack([one["mean"] for one in parts])
        mean = (means * share).sum(0)
        apart = np.stack([one["std"] for one in parts]) ** 2
        apart += (means - mean) ** 2
        joined[name] = {
            "count": counts.sum(),
            "mean": mean,
            "std": np.sqrt((apart * share).sum(0)),
            "min": np.stack([one["min"] for one in parts]).min(0),
            "max": np.stack([one["max"] for one in parts]).max(0),
        }
    return joined
