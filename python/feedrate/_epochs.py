"""One pass over batches, and where a loader of them is."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from feedrate import _library

if TYPE_CHECKING:
    from feedrate._batches import Batches

# So often Python looks whether Ctrl-C was pressed.
_WAIT_S = 0.2


class Place(NamedTuple):
    """Where a loader is. Never changed, only replaced: other threads read it at
    any time."""

    # Where the next pass starts.
    epoch: int = 0
    position: int = 0
    # The pass that may take batches.
    running: Pass | None = None
    # It has not ended, and its next batch is where the loader is.
    leads: bool = False

    @property
    def state(self) -> tuple[int, int]:
        if self.running is not None and self.leads:
            return self.running.place
        return self.epoch, self.position

    @property
    def unused(self) -> Pass | None:
        """A pass that has not begun: it is not an epoch. Lightning makes one
        before each training, and sets the epoch after that."""
        last = self.running if self.leads else None
        return last if last is not None and last.batches == 0 else None


class Pass:
    """One epoch, or what is left of it."""

    def __init__(self, loader: Batches, epoch: int, start: int) -> None:
        self._loader = loader
        # What feedrate_next has given; kept if Ctrl-C ends the call just then.
        self._batch = _library.Batch()
        self.begin(epoch, start)

    def begin(self, epoch: int, start: int) -> None:
        """Starts the loader's threads. REQUIRES: its lock is held."""
        loader = self._loader
        loader._fill()
        if loader._place.leads:
            # One that was broken off has not told.
            loader._warn_of_faults()
        _library.check(
            loader._library.feedrate_start(loader._handle, epoch, start)
        )
        loader._warn_of_left_out()
        loader._told = 0
        self._error = ""
        self._start = start
        self._left = loader._samples(start)
        self._splits = loader._splits(start)
        self.batches = 0
        self.place = (epoch, start)
        # A pass that is left early is not continued, as with DataLoader.
        loader._place = Place(epoch + 1, 0, self, self._left > 0)

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        loader = self._loader
        # One thread at a time: the place is that after the last batch.
        with loader._lock:
            if self._left <= 0:
                raise StopIteration
            loader._check_usable()
            if loader._place.running is not self:
                raise RuntimeError(
                    f"{loader._name}: a later loop has started; a loader runs"
                    " one at a time, make a second one for another"
                )
            if self._error:
                raise RuntimeError(self._error)
            batch = self._wait()
            self._count(batch.size)
        return loader._deliver(batch)

    def _wait(self) -> _library.Batch:
        loader = self._loader
        loader._fill()
        batch = self._batch
        code = 0 if batch.keep else _library.DEADLINE_EXCEEDED
        while code == _library.DEADLINE_EXCEEDED:
            code = loader._library.feedrate_next(
                loader._handle, _WAIT_S, ctypes.byref(batch)
            )
        if code != 0 or not batch.keep:
            # The place stays: a state continues with the batch that is missing.
            why = _library.message() if code != 0 else "batches are missing"
            self._error = f"{loader._name}: {why}"
            raise RuntimeError(self._error)
        self._batch = _library.Batch()
        return batch

    def _count(self, size: int) -> None:
        loader = self._loader
        epoch, position = self.place
        self._left -= size
        self.batches += 1
        # EpochShare::StartAfter.
        position += size * loader.world_size
        if self._splits:
            full = self.batches * loader.batch_size * loader.world_size
            most = loader._total - loader.world_size
            position = min(self._start + full, most)
        self.place = (epoch, position)
        loader._place = loader._place._replace(leads=self._left > 0)
        # A mixture has no end: it tells after 1, 2, 4, 8, ... batches.
        is_power = self.batches & (self.batches - 1) == 0
        if self._left <= 0 or loader._endless and is_power:
            loader._warn_of_left_out()
            loader._warn_of_faults()
