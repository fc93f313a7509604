"""Means, deviations and quantiles of actions and states, by data set."""

from __future__ import annotations

from collections.abc import Iterable
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


def of(
    batches: Iterable[dict[str, Any]], datasets: list[dict[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Of all steps once, in any order."""
    parts: list[dict[str, _Rows]] = [{} for _ in datasets]
    for batch in batches:
        for number in np.unique(batch["dataset"]):
            dataset = datasets[number]
            chosen = batch["dataset"] == number
            widths = {
                "action": dataset["action_width"],
                "state": dataset["state_width"],
                **dataset["number_widths"],
            }
            for key, width in widths.items():
                if key not in batch or width == 0:
                    continue
                every = -(-dataset["steps"] // _MOST_SAMPLED)
                rows = parts[number].setdefault(key, _Rows(width, every))
                values = batch[key][chosen]
                rows.add(values.reshape(len(values), -1)[:, :width])
    return {
        dataset["name"]: {key: rows.found() for key, rows in found.items()}
        for dataset, found in zip(datasets, parts, strict=True)
    }
