"""What feedrate's iterables of batches share: order, ranks, states, memory,
threads, and the end."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from feedrate import _arguments, _epochs, _library

if TYPE_CHECKING:
    from collections.abc import Sequence

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

Self = TypeVar("Self", bound="Batches")


class Batches:
    """Batches that threads of C++ make. A class of its own says what they are
    made of: it calls `_share`, then `_open`, and has `_deliver`."""

    #: What messages call the class, and one of what may be unusable.
    _name = ""
    _unit = ""
    #: A pass does not end.
    _endless = False
    #: Faults of this pass that a warning has told.
    _told = 0

    def _share(
        self,
        *,
        batch_size: int,
        crop: tuple[int, int],
        workers: int,
        prefetch: int,
        shuffle: bool,
        seed: int,
        rank: int,
        world_size: int,
        tail: str,
        drop_last: bool,
        dtype: Any,
        mean: float | Sequence[float],
        std: float | Sequence[float],
        channels_last: bool,
        torch: Any,
        output: str,
        pin_memory: bool,
        on_error: str,
    ) -> list[str]:
        """Checks the arguments that all have; returns them as settings."""
        drop_last = _arguments.flag("drop_last", drop_last)
        if drop_last and tail not in ("keep", "drop"):
            raise _arguments.wrong(
                "drop_last", True, f'False, because tail="{tail}"'
            )
        self.batch_size = _arguments.whole("batch_size", batch_size, 1)
        self.rank = _arguments.whole("rank", rank, 0)
        self.world_size = _arguments.whole("world_size", world_size, 1)
        if self.rank >= self.world_size:
            raise _arguments.wrong("rank", rank, f"0 to {self.world_size - 1}")
        self._tail = _arguments.word(
            "tail", "drop" if drop_last else tail, "keep pad drop"
        )
        self._torch = torch
        self._channels_last = _arguments.flag("channels_last", channels_last)
        self._dtype = _arguments.dtype(dtype)
        self._seed = _arguments.whole("seed", seed, 0)
        self._shuffle = _arguments.flag("shuffle", shuffle)
        self._prefetch = _arguments.whole("prefetch", prefetch, 1)
        if pin_memory and output != "torch":
            raise _arguments.wrong("pin_memory", True, 'it with output="torch"')
        # What makes memory for batches; None: the library has its own.
        self._maker = self._make_block(pin_memory)
        return [
            f"batch_size={self.batch_size}",
            f"crop={crop[0]}",
            f"crop_width={crop[1]}",
            f"workers={workers}",
            f"prefetch={self._prefetch}",
            f"shuffle={int(self._shuffle)}",
            f"seed={self._seed}",
            f"rank={self.rank}",
            f"world_size={self.world_size}",
            f"tail={self._tail}",
            f"on_error={_arguments.word('on_error', on_error, 'skip fail')}",
            f"format={self._dtype} {'last' if channels_last else 'first'}",
            f"mean={_arguments.numbers('mean', mean)}",
            f"std={_arguments.numbers('std', std)}",
        ]

    # Iterating.

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            self._check_usable()
            unused = self._place.unused
            epoch, start = unused.place if unused else self._place[:2]
            return _epochs.Pass(self, epoch, start)

    def __len__(self) -> int:
        """Batches of this rank in a whole epoch."""
        samples = self._samples(0)
        if self._splits(0):
            samples = self._total // self.world_size + 1
        return -(-samples // self.batch_size)

    def _deliver(self, batch: _library.Batch) -> Any:
        """What a loop gets of a batch."""
        raise NotImplementedError

    @property
    def skipped(self) -> int:
        """How many items could not be used since this was made. Each counts
        once, however many epochs have met it."""
        return len(self.skipped_files)

    @property
    def skipped_files(self) -> dict[str, str]:
        """All items that could not be used since this was made, and why:
        reasons by name."""
        self._check_usable()
        return _library.faults(self._handle)[1]

    # Where it is.

    @property
    def epoch(self) -> int:
        """Number of the current epoch, or of the next if none is under way."""
        return int(self.state_dict()["epoch"])

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch, which decides its order.

        Epochs count from 0 by themselves. A position that `load_state_dict`
        has set stays if it is in this epoch. An iterator that has not given a
        batch goes to the epoch too."""
        epoch = _arguments.whole("epoch", epoch, 0)
        with self._lock:
            place = self._place
            if place.unused is not None:
                if place.state[0] != epoch:
                    self._check_usable()
                    place.unused.begin(epoch, 0)
            elif place.leads or place.epoch != epoch:
                self._place = _epochs.Place(epoch, 0, place.running)

    @property
    def sampler(self) -> _Sampler:
        """Has `set_epoch`: Lightning and others look for it here."""
        return _Sampler(self)

    def state_dict(self) -> dict[str, Any]:
        """Where the next batch starts, the same on all ranks.

        Any number of workers or ranks can continue there, with any batch size;
        all ranks must have taken the same number of full batches."""
        epoch, position = self._place.state
        return {
            "version": 1,
            "epoch": epoch,
            "position": position,
            **self._identity(),
        }

    def _identity(self) -> dict[str, Any]:
        """What the order depends on, which a state must have too."""
        return {
            "seed": self._seed,
            "shuffle": self._shuffle,
            "size": self.size,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where `state_dict` was called: the next pass begins with
        the sample after the last batch."""
        if state.get("version") != 1:
            raise ValueError(
                "load_state_dict: is not a state of this version of"
                f" {self._name}; start the epoch again"
            )
        mine = self.state_dict()
        for name in mine:
            if name not in state:
                raise ValueError(
                    f"load_state_dict: the state has no {name}; pass what"
                    " state_dict() returned"
                )
        for name, own in self._identity().items():
            if state[name] != own:
                raise ValueError(
                    f"load_state_dict: the state has {name}={state[name]} and"
                    f" this loader {name}={own}; make it with the same"
                    " data, seed and shuffle"
                )
        epoch = _arguments.whole("epoch", state["epoch"], 0)
        position = _arguments.whole("position", state["position"], 0)
        if position >= self._total:
            raise ValueError(
                f"load_state_dict: position {position} is beyond the end of"
                f" an epoch of {self._total} items; pass what state_dict()"
                " returned"
            )
        with self._lock:
            self._place = _epochs.Place(epoch, position)
        self._warn_of_ranks(position)

    # The end.

    def close(self) -> None:
        """Ends the threads, and with an error a `next` that waits in another
        thread. Batches stay valid. May be called twice."""
        self._closer()
        self._place = _epochs.Place(*self._place.state)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {self._name} has threads and cannot be pickled; make it in"
            " the process that uses it"
        )

    # Parts.

    def _open(
        self,
        settings: list[str],
        files: list[str],
        array: Any,
        waits: bool,
    ) -> None:
        """Makes the threads. `waits`: opening may take long, and Ctrl-C should
        end that."""
        self._library = _library.load()
        self._pid = os.getpid()
        # Held by who takes a batch or changes the place.
        self._lock = threading.RLock()
        self._place = _epochs.Place()
        view = None
        if array is not None:
            view = _library.Array(array.ctypes.data, *array.shape)
        settings = [
            *settings,
            f"memory={'own' if self._maker is None else 'foreign'}",
        ]
        opens = _library.open_loader_apart if waits else _library.open_loader
        self._handle = opens(settings, files, view)
        self._describe()
        self._blocks: _library.Blocks | None = None
        if self._maker is not None:
            self._blocks = _library.Blocks(
                self._maker, self._facts.batch_bytes, self._prefetch + 1
            )
        self._closer = weakref.finalize(
            self,
            _close,
            self._library,
            self._handle,
            self._pid,
            # Memory that the library uses until then.
            (array, self._blocks),
        )

    def _describe(self) -> None:
        facts = _library.Facts()
        _library.check(
            self._library.feedrate_describe(self._handle, ctypes.byref(facts))
        )
        #: Number of items, over all ranks.
        self.size = facts.size
        # Samples of an epoch, over all ranks.
        self._total = facts.samples
        self._facts = facts

    def _make_block(
        self, pin_memory: bool
    ) -> Callable[[int], tuple[Any, int]] | None:
        self._pins = pin_memory and self._torch.cuda.is_available()
        return _library.pinned(self._torch) if self._pins else None

    def _fill(self) -> None:
        if self._blocks is not None:
            self._blocks.fill(self._handle)

    def _samples(self, start: int) -> int:
        self._check_usable()
        count = ctypes.c_int64()
        _library.check(
            self._library.feedrate_count(
                self._handle, start, ctypes.byref(count)
            )
        )
        return count.value

    def _splits(self, start: int) -> bool:
        """EpochShare::Splits of lib/ops/epoch_order.h."""
        least, rest = divmod(self._total - start, self.world_size)
        return (
            self._tail == "keep"
            and self.batch_size > 1
            and min(least, rest) > 0
            and least % self.batch_size == 0
        )

    def _warn_of_ranks(self, start: int) -> None:
        """The first rank has most items, the last fewest."""
        items = self._total - start
        least, rest = divmod(items, self.world_size)
        if (
            self._tail == "keep"
            and not self._endless
            and rest > 0
            and least % self.batch_size == 0
            and not self._splits(start)
        ):
            warnings.warn(
                f"{self._name}: {items} items over {self.world_size}"
                " ranks give some ranks a batch more than others, and a"
                " training that waits for all ranks in each step would hang;"
                ' pass tail="pad" or tail="drop"',
                RuntimeWarning,
                stacklevel=3,
            )

    def _warn_of_faults(self) -> None:
        self._check_usable()
        count, reasons = _library.faults(self._handle)
        if count <= self._told:
            return
        self._told = count
        name, reason = next(iter(reasons.items()))
        warnings.warn(
            f"{self._name}: {count} {self._unit}{'s' if count > 1 else ''}"
            " could not be used in this epoch, and others took their place;"
            f" skipped_files has all, the first is {name}: {reason}",
            RuntimeWarning,
            stacklevel=4,
        )

    def _warn_of_left_out(self) -> None:
        """What is new when an epoch begins or ends."""

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"{self._name}: its threads did not survive the fork; make"
                " it in the process that uses it"
            )
        if not self._closer.alive:
            raise RuntimeError(f"{self._name}: it is closed; make a new one")


class _Sampler:
    """What decides the order, as far as others set it."""

    def __init__(self, loader: Batches) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        self._loader.set_epoch(epoch)


def _close(library: Any, handle: int, pid: int, _memory: Any) -> None:
    # A forked process has the memory, but not the threads.
    if os.getpid() == pid:
        library.feedrate_close(handle)
