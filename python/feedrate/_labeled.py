"""What feedrate's classes for files with labels share: where items come from,
their names and labels, and tensors of both."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedrate import _arguments, _library
from feedrate._batches import Batches

if TYPE_CHECKING:
    from feedrate._arguments import Labels, Step


# Each sample of a mixed batch has a row of shares, one per class.
_MOST_MIXED = 1 << 20


class Labeled(Batches):
    """Batches of items and their labels. A class of its own calls `_items` for
    settings and, after `_open`, `_label`."""

    # -1 is the CPU.
    _gpu = -1
    # By DLPack alone.
    _passes_on = False
    # Of _library.left_out, what a warning has told.
    _told_left_out = ""

    def _items(
        self,
        source: tuple[str, str, list[str], np.ndarray | None],
        labels: Labels,
        transforms: str | Sequence[Step] | None,
        crop_position: str,
        flip: bool,
        return_index: bool,
        **store: Any,
    ) -> list[str]:
        """Where items come from, and what is done to them, as settings.
        `source` is what _arguments.source made of it."""
        self._return_index = _arguments.flag("return_index", return_index)
        kind, self._path, _, array = source
        classes = _arguments.classes(labels)
        # What `_label` gets.
        self._given = None if classes else labels
        steps = _arguments.steps(transforms)
        channels = 3 if array is None else array.shape[3]
        anonymous = _arguments.flag("anonymous", store["anonymous"])
        store["anonymous"] = "true" if anonymous else None
        return [
            f"source={kind}",
            f"path={self._path}",
            "crop_position="
            + _arguments.word("crop_position", crop_position, "random center"),
            f"channels={channels}",
            f"flip={int(_arguments.flag('flip', flip))}",
            "read_ahead=auto",
            f"needs_labels={int(labels is None or bool(classes))}",
            *[f"class={name}" for name in classes],
            *steps,
            f"configs={_library.configs() if steps else ''}",
            *_arguments.store_settings(kind, **store),
        ]

    def _label(self, named: int) -> None:
        """Names, labels and shapes. REQUIRES: it is open. `named` is how many
        names there are."""
        facts = self._facts
        self._value_type = getattr(self._torch or np, self._dtype)
        self._mixes = facts.mixes
        planes = (facts.channels, facts.height, facts.width)
        self._shape = planes[1:] + planes[:1] if self._channels_last else planes
        self._named = named
        self._names: list[str] | None = None
        #: Names of the folders that labels stand for; empty if they do not.
        self.classes: list[str] = _library.classes(self._handle)
        #: Number of each class, as ImageFolder has it.
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        try:
            self.labels = self._make_labels(self._given)
        except BaseException:
            self.close()
            raise

    def _labeled(self, items: np.ndarray) -> np.ndarray:
        """The numbers of their names."""
        return items

    @property
    def names(self) -> list[str]:
        """Path, address or number of each item; of clips, of each video."""
        if self._names is None:
            self._check_usable()
            self._names = _library.names(self._handle)
        return self._names

    # Parts.

    def _make_labels(self, given: Labels) -> np.ndarray:
        size = self._named
        if callable(given):
            found = np.array([given(name) for name in self.names])
        elif given is not None:
            found = np.asarray(given)
        else:
            found = np.empty(size, np.int64)
            _library.check(
                self._library.feedrate_labels(self._handle, found.ctypes.data)
            )
        if (
            found.shape != (size,)
            or found.dtype.kind not in "iu"
            or found.max() > np.iinfo(np.int64).max
        ):
            raise ValueError(
                f"labels: is {found.dtype} of shape {found.shape}; needs"
                f" {size} integers, one per {self._unit} in the order of its"
                " names, or the names of the classes"
            )
        found = np.ascontiguousarray(found, np.int64)
        if self._mixes and found.max() >= _MOST_MIXED:
            raise ValueError(
                f"labels: a row of shares for {found.max()} classes is not"
                f" possible; mixing is for fewer than {_MOST_MIXED}"
            )
        if self._mixes and found.min() < 0:
            raise ValueError(
                "labels: an item has none, and mixing needs them; pass labels"
            )
        return found

    def _warn_of_items(self) -> None:
        """What is in the source and not among the items, in a batch, or with a
        label."""
        texts = []
        if len(self) == 0:
            texts.append(
                f"an epoch has no batch: {self.size} items over"
                f" {self.world_size} ranks are less than batch_size="
                f"{self.batch_size} on each"
            )
        self._warn_of_left_out()
        missing = np.flatnonzero(self.labels < 0)
        if 0 < len(missing) < self._named:
            texts.append(
                f"{len(missing)} of {self._named} items have no label, which is"
                f" -1; the first is {self.names[missing[0]]}"
            )
        for text in texts:
            warnings.warn(f"{self._name}: {text}", RuntimeWarning, stacklevel=3)

    def _warn_of_left_out(self) -> None:
        left_out = _library.left_out(self._handle)
        if left_out == self._told_left_out:
            return
        self._told_left_out = left_out
        warnings.warn(
            f"{self._name}: {self._path}: {left_out}",
            RuntimeWarning,
            stacklevel=4,
        )

    def _deliver(self, batch: _library.Batch) -> tuple[Any, ...]:
        items = np.ctypeslib.as_array(batch.items, (batch.size,)).copy()
        labels: Any = self._labels_of(self._labeled(items), batch.own_share)
        shape = (batch.size, *self._shape)
        images: Any
        if self._blocks is not None:
            with self._lock:
                block = self._blocks.take(batch)
            images = block.view(self._value_type)[: math.prod(shape)]
            images = images.reshape(shape)
        elif self._passes_on or self._gpu >= 0:
            images = _library.DeviceBatch(batch, shape, self._gpu)
        else:
            images = np.asarray(_library.ArrayBatch(batch, shape, self._dtype))
        others = [labels, items] if self._return_index else [labels]
        torch = self._torch
        if torch is None:
            return (images, *others)
        others = [torch.from_numpy(other) for other in others]
        if self._gpu >= 0:
            # For torch's current stream of this GPU.
            images = torch.from_dlpack(images)
            # From pinned memory a copy does not wait for the stream.
            others[0] = (
                others[0].pin_memory().to(images.device, non_blocking=True)
            )
        elif self._blocks is None:
            images = torch.from_numpy(images)
        if self._pins:
            others[0] = others[0].pin_memory()
        if self._channels_last:
            images = images.movedim(-1, -3)
        return (images, *others)

    def _labels_of(self, items: np.ndarray, own_share: float) -> np.ndarray:
        labels: np.ndarray = self.labels[items]
        if not self._mixes:
            return labels
        shares = np.zeros((len(items), self.labels.max() + 1), np.float32)
        rows = np.arange(len(items))
        np.add.at(shares, (rows, labels), own_share)
        np.add.at(shares, (rows, labels[::-1]), 1 - own_share)
        return shares
