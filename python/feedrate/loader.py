"""feedrate.Loader: the native loader of feedrate as a Python iterable."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedrate import _arguments, _epochs, _library

if TYPE_CHECKING:
    from feedrate._arguments import Labels, Step

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Loader:
    """Batches of images and labels, decoded and augmented by C++ threads.

        loader = feedrate.Loader("train/", batch_size=256, crop=224, flip=True)
        for images, labels in loader:
            ...

    Each pass of a ``for`` loop is an epoch. Every item comes once per epoch,
    over all ranks. The same seed gives the same batches for any number of
    workers. Batches stay as they are for as long as you keep them.

    Args:
      source: a folder of images (.jpg, .jpeg, .png, .webp, .bmp, .pgm, .ppm,
        .npy; with subfolders and links) or of tar shards; the path of a shard,
        with lists as in ``train-{000..099}.tar``; a list of image files or of
        shards; an address ``s3://``, ``gs://``, ``http(s)://`` or ``file://``;
        or an array of uint8 (N, H, W, C).
      batch_size: images per batch and rank.
      crop: height and width of the crop, one number or ``(height, width)``.
        Smaller images are padded with zeros.
      crop_position: ``random`` or ``center``.
      flip: mirror half of the images.
      transforms: what is done between crop and flip: a name of
        docs/transform_sets/rgb.md or a list of names. A tuple ``(name, 0.3)``
        has a probability; a list of names instead of a name means one of them.
        ``RandomResizedCrop`` as the first replaces the crop; ``Mixup`` and
        ``CutMix`` mix the batch, and labels are then rows of shares.
      labels: a sequence with one number per item, in the order of
        ``loader.names``; or a function that makes the number of a name; or the
        names of the classes, such as ``labels=train.classes`` for a validation
        split. Without it: the numbers in ``.cls`` members of shards, else the
        number of the item's folder among all folders directly below the
        source, as torchvision's ImageFolder has it, else -1.
      workers: threads; 0 makes batches in the thread that asks (of a store:
        in one other), or leaves all to the GPU's decoders. Default: one per
        CPU that this process may use, and with a GPU four fewer.
      num_workers: the same, as DataLoader spells it.
      prefetch: batches that are made ahead.
      shuffle: a new order in each epoch.
      seed: of order and augmentation.
      rank, world_size: this process and the number of processes.
      tail: what becomes of items that do not make a full batch on every rank.
        ``keep``: each item comes once; last batches are smaller, or missing on
        some ranks if there are fewer items than ranks, or batches of one.
        ``pad``: the first items of the epoch again, until all ranks
        have as many. ``drop``: only full batches.
      drop_last: the same as ``tail="drop"``, as DataLoader spells it.
      dtype: ``float32``, normalized with mean and std, or ``uint8`` as decoded.
      mean, std: of values from 0 to 1, one per channel or one for all.
      channels_last: False is (N, C, H, W). True is (N, H, W, C); torch tensors
        then have the shape (N, C, H, W) in torch's memory format channels_last.
      output: ``torch`` or ``numpy``; or ``dlpack``: images are an object for
        consumers of DLPack. All share memory with the loader, and pass it on by
        DLPack.
      device: ``cpu``; or ``cuda``, ``cuda:1``: batches are made on this GPU,
        and handed out there. Labels are there too with ``output="torch"``.
      nvjpeg: what decodes on a GPU besides the workers: ``hardware``, ``gpu``
        (kernels), ``both`` or ``off``. ``auto``: hardware, if there is any.
        With ``off``, the same seed gives the same pixels to the bit.
      pin_memory: with ``output="torch"``: batches lie in torch's pinned memory,
        as those of a DataLoader do. It is used again when every stream that
        torch copies from it has done so. Without CUDA it does nothing.
      return_index: batches are (images, labels, indexes of items).
      on_error: ``skip``: the next usable image takes the place of one that
        cannot be used, see ``loader.skipped``. ``fail``: RuntimeError.
      cache_dir, cache_bytes: a local cache of what addresses deliver, and how
        large it may become.
      endpoint, redirect_hosts, anonymous, connections: how a store is
        reached; see docs/storage.md.

    Raises:
      ValueError, TypeError: name the argument that is not possible.
      FileNotFoundError: there is no such data.
    """

    def __init__(
        self,
        source: Any,
        *,
        batch_size: int = 256,
        crop: int | tuple[int, int] = 224,
        crop_position: str = "random",
        flip: bool = False,
        transforms: str | Sequence[Step] | None = None,
        labels: Labels = None,
        workers: int | None = None,
        num_workers: int | None = None,
        prefetch: int = 2,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        tail: str = "keep",
        drop_last: bool = False,
        dtype: Any = "float32",
        mean: float | Sequence[float] = IMAGENET_MEAN,
        std: float | Sequence[float] = IMAGENET_STD,
        channels_last: bool = False,
        output: str = "torch",
        device: str = "cpu",
        nvjpeg: str = "auto",
        pin_memory: bool = False,
        return_index: bool = False,
        on_error: str = "skip",
        cache_dir: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        endpoint: str | None = None,
        redirect_hosts: str | None = None,
        anonymous: bool = False,
        connections: int | None = None,
    ) -> None:
        pin_memory = _arguments.flag("pin_memory", pin_memory)
        crop = _arguments.crop(crop)
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
        self._tail = "drop" if drop_last else tail
        _arguments.word("output", output, "torch numpy dlpack")
        self._torch = _arguments.torch() if output == "torch" else None
        self._passes_on = output == "dlpack"
        self._gpu = _arguments.device(device, self._torch)
        workers = _arguments.workers(workers, num_workers, self._gpu >= 0)
        self._channels_last = _arguments.flag("channels_last", channels_last)
        self._dtype = _arguments.dtype(dtype)
        self._value_type = getattr(self._torch or np, self._dtype)
        self._return_index = _arguments.flag("return_index", return_index)
        self._seed = _arguments.whole("seed", seed, 0)
        self._shuffle = _arguments.flag("shuffle", shuffle)
        self._kind, self._path, files, array = _arguments.source(source)
        if self._gpu >= 0:
            _arguments.for_gpu(self._kind, output, pin_memory, crop)
        _arguments.word("nvjpeg", nvjpeg, "auto hardware gpu both off")
        if self._gpu < 0 and nvjpeg != "auto":
            raise _arguments.wrong(
                "nvjpeg", nvjpeg, 'it with device="cuda" only'
            )
        self._prefetch = _arguments.whole("prefetch", prefetch, 1)
        channels = 3 if array is None else array.shape[3]
        classes = _arguments.classes(labels)
        self._settings = [
            f"source={self._kind}",
            f"path={self._path}",
            f"batch_size={self.batch_size}",
            f"crop={crop[0]}",
            f"crop_width={crop[1]}",
            "crop_position="
            + _arguments.word("crop_position", crop_position, "random center"),
            f"channels={channels}",
            f"flip={int(_arguments.flag('flip', flip))}",
            f"workers={workers}",
            f"prefetch={self._prefetch}",
            f"shuffle={int(self._shuffle)}",
            f"seed={self._seed}",
            f"rank={self.rank}",
            f"world_size={self.world_size}",
            f"tail={_arguments.word('tail', self._tail, 'keep pad drop')}",
            f"on_error={_arguments.word('on_error', on_error, 'skip fail')}",
            f"format={self._dtype} {'last' if channels_last else 'first'}",
            f"mean={_arguments.numbers('mean', mean)}",
            f"std={_arguments.numbers('std', std)}",
            "read_ahead=auto",
            f"gpu={self._gpu}",
            f"nvjpeg={nvjpeg}",
            f"needs_labels={int(labels is None or bool(classes))}",
            *[f"class={name}" for name in classes],
            *_arguments.steps(transforms),
        ]
        self._settings += _arguments.store_settings(
            self._kind,
            cache_folder=cache_dir,
            cache_bytes=cache_bytes,
            endpoint=endpoint,
            redirect_hosts=redirect_hosts,
            anonymous=(
                "true" if _arguments.flag("anonymous", anonymous) else None
            ),
            connections=connections,
        )
        if pin_memory and output != "torch":
            raise _arguments.wrong("pin_memory", True, 'it with output="torch"')
        self._open(files, array, self._make_block(pin_memory))
        self._names: list[str] | None = None
        #: Names of the folders that labels stand for; empty if they do not.
        self.classes: list[str] = _library.classes(self._handle)
        #: Number of each class, as ImageFolder has it.
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        try:
            self.labels = self._make_labels(None if classes else labels)
        except BaseException:
            self.close()
            raise
        self._warn_of_ranks(0)
        self._warn_of_items()

    # Iterating.

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with self._lock:
            self._check_usable()
            unused = self._place.unused
            epoch, start = unused.place if unused else self._place[:2]
            return _epochs.Pass(self, epoch, start)

    def __len__(self) -> int:
        """Batches of this rank in a whole epoch."""
        samples = self._samples(0)
        if self._splits(0):
            samples = self.size // self.world_size + 1
        return -(-samples // self.batch_size)

    @property
    def names(self) -> list[str]:
        """Path, address or number of each item."""
        if self._names is None:
            self._check_usable()
            self._names = _library.names(self._handle)
        return self._names

    @property
    def skipped(self) -> int:
        """How many images could not be used since the loader was made. Each
        counts once, however many epochs have met it."""
        return len(self.skipped_files)

    @property
    def skipped_files(self) -> dict[str, str]:
        """All images that could not be used since the loader was made, and
        why: reasons by name."""
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
                " feedrate.Loader; start the epoch again"
            )
        mine = self.state_dict()
        for name in mine:
            if name not in state:
                raise ValueError(
                    f"load_state_dict: the state has no {name}; pass what"
                    " state_dict() returned"
                )
        for name in ("size", "seed", "shuffle"):
            if state[name] != mine[name]:
                raise ValueError(
                    f"load_state_dict: the state has {name}={state[name]} and"
                    f" this loader {name}={mine[name]}; make it with the same"
                    " data, seed and shuffle"
                )
        epoch = _arguments.whole("epoch", state["epoch"], 0)
        position = _arguments.whole("position", state["position"], 0)
        if position >= self.size:
            raise ValueError(
                f"load_state_dict: position {position} is beyond the end of an"
                f" epoch of {self.size} items; pass what state_dict() returned"
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

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a feedrate.Loader has threads and cannot be pickled; make it in"
            " the process that uses it"
        )

    # Parts.

    def _open(
        self,
        files: list[str],
        array: np.ndarray | None,
        make_block: Callable[[int], tuple[Any, int]] | None,
    ) -> None:
        self._library = _library.load()
        if self._gpu >= 0:
            _library.load_nvjpeg()
        self._pid = os.getpid()
        # Held by who takes a batch or changes the place.
        self._lock = threading.RLock()
        self._place = _epochs.Place()
        view = None
        if array is not None:
            view = _library.Array(array.ctypes.data, *array.shape)
        steps = any(text.startswith("step=") for text in self._settings)
        settings = [
            *self._settings,
            f"memory={'own' if make_block is None else 'foreign'}",
            f"configs={_library.configs() if steps else ''}",
        ]
        waits = self._kind == "store"
        opens = _library.open_loader_apart if waits else _library.open_loader
        self._handle = opens(settings, files, view)
        facts = _library.Facts()
        _library.check(
            self._library.feedrate_describe(self._handle, ctypes.byref(facts))
        )
        self._blocks: _library.Blocks | None = None
        if make_block is not None:
            self._blocks = _library.Blocks(
                make_block, facts.batch_bytes, self._prefetch + 1
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
        #: Number of items, over all ranks.
        self.size = facts.size
        self._mixes = facts.mixes
        planes = (facts.channels, facts.height, facts.width)
        self._shape = planes[1:] + planes[:1] if self._channels_last else planes

    def _make_block(
        self, pin_memory: bool
    ) -> Callable[[int], tuple[Any, int]] | None:
        """What makes memory for batches; None: the library has its own."""
        self._pins = pin_memory and self._torch.cuda.is_available()
        return _library.pinned(self._torch) if self._pins else None

    def _fill(self) -> None:
        if self._blocks is not None:
            self._blocks.fill(self._handle)

    def _make_labels(self, given: Labels) -> np.ndarray:
        size = self.size
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
                f" {size} integers, one per item in the order of loader.names,"
                " or the names of the classes"
            )
        found = np.ascontiguousarray(found, np.int64)
        if self._mixes and found.min() < 0:
            raise ValueError(
                "labels: an item has none, and mixing needs them; pass labels"
            )
        return found

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
        least, rest = divmod(self.size - start, self.world_size)
        return (
            self._tail == "keep"
            and self.batch_size > 1
            and min(least, rest) > 0
            and least % self.batch_size == 0
        )

    def _warn_of_ranks(self, start: int) -> None:
        """The first rank has most items, the last fewest."""
        items = self.size - start
        least, rest = divmod(items, self.world_size)
        if (
            self._tail == "keep"
            and rest > 0
            and least % self.batch_size == 0
            and not self._splits(start)
        ):
            warnings.warn(
                f"feedrate.Loader: {items} items over {self.world_size}"
                " ranks give some ranks a batch more than others, and a"
                " training that waits for all ranks in each step would hang;"
                ' pass tail="pad" or tail="drop"',
                RuntimeWarning,
                stacklevel=3,
            )

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
        left_out = _library.left_out(self._handle)
        if left_out:
            texts.append(f"{self._path}: {left_out}")
        missing = np.flatnonzero(self.labels < 0)
        if 0 < len(missing) < self.size:
            texts.append(
                f"{len(missing)} of {self.size} items have no label, which is"
                f" -1; the first is {self.names[missing[0]]}"
            )
        for text in texts:
            warnings.warn(
                f"feedrate.Loader: {text}", RuntimeWarning, stacklevel=3
            )

    def _warn_of_faults(self) -> None:
        self._check_usable()
        count, reasons = _library.faults(self._handle)
        if count == 0:
            return
        name, reason = next(iter(reasons.items()))
        warnings.warn(
            f"feedrate.Loader: {count} image{'s' if count > 1 else ''} could"
            " not be used in this epoch, and others took their place;"
            f" loader.skipped_files has all, the first is {name}: {reason}",
            RuntimeWarning,
            stacklevel=4,
        )

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError(
                "feedrate.Loader: its threads did not survive the fork; make"
                " the loader in the process that uses it"
            )
        if not self._closer.alive:
            raise RuntimeError("feedrate.Loader: it is closed; make a new one")

    def _deliver(self, batch: _library.Batch) -> tuple[Any, ...]:
        items = np.ctypeslib.as_array(batch.items, (batch.size,)).copy()
        labels: Any = self._labels_of(items, batch.own_share)
        shape = (batch.size, *self._shape)
        images: Any
        if self._blocks is not None:
            with self._lock:
                images = self._blocks.take(batch, shape, self._value_type)
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
            images = images.permute(0, 3, 1, 2)
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


class _Sampler:
    """What decides the order, as far as others set it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        self._loader.set_epoch(epoch)


def _close(library: Any, handle: int, pid: int, _memory: Any) -> None:
    # A forked process has the memory, but not the threads.
    if os.getpid() == pid:
        library.feedrate_close(handle)
