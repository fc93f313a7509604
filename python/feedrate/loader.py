"""feedrate.Loader: the native loader of feedrate as a Python iterable."""

from __future__ import annotations

import ctypes
import os
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedrate import _arguments, _library

if TYPE_CHECKING:
    from feedrate._arguments import Labels, Step

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
# So often Python looks whether Ctrl-C was pressed.
_WAIT_S = 0.2


class Loader:
    """Batches of images and labels, decoded and augmented by C++ threads.

        loader = feedrate.Loader("train/", batch_size=256, crop=224, flip=True)
        for images, labels in loader:
            ...

    Each pass of a ``for`` loop is an epoch. Every item comes once per epoch,
    over all ranks. The same seed gives the same batches for any number of
    workers. Batches stay as they are for as long as you keep them.

    Args:
      source: a folder of images (.jpg, .jpeg, .png, .npy; with subfolders) or
        of tar shards; the path of a shard, with lists as in
        ``train-{000..099}.tar``; a list of image files or of shards; an address
        ``s3://``, ``gs://``, ``http(s)://`` or ``file://``; or an array of
        uint8 (N, H, W, C).
      batch_size: images per batch and rank.
      crop: height and width of the crop. Smaller images are padded with zeros.
      crop_position: ``random`` or ``center``.
      flip: mirror half of the images.
      transforms: what is done between crop and flip: a name of
        docs/transform_sets/rgb.md or a list of names. A tuple ``(name, 0.3)``
        has a probability; a list of names instead of a name means one of them.
        ``RandomResizedCrop`` as the first replaces the crop; ``Mixup`` and
        ``CutMix`` mix the batch, and labels are then rows of shares.
      labels: a sequence with one number per item, in the order of
        ``loader.names``; or a function that makes the number of a name. Without
        it: the ``.cls`` members of shards, else the number of the item's folder
        among all folders directly below the source, else -1.
      workers: threads; 0 makes batches in the thread that asks (of a store:
        in one other), or leaves all to the GPU's decoders. Default: one per
        CPU that this process may use, and with a GPU four fewer.
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
      pin_memory: torch only: batches lie in pinned memory. Without CUDA it
        does nothing.
      return_index: batches are (images, labels, indexes of items).
      on_error: ``skip``: the next usable image takes the place of one that
        cannot be used, see ``loader.skipped``. ``fail``: RuntimeError.
      cache_dir, cache_bytes: a local cache of what addresses deliver, and how
        large it may become.
      endpoint, redirect_hosts, anonymous, connections: how a store is
        reached; see docs/storage.md.

    Raises:
      ValueError: names the argument that is not possible.
      FileNotFoundError: there is no such data.
    """

    def __init__(
        self,
        source: Any,
        *,
        batch_size: int = 256,
        crop: int = 224,
        crop_position: str = "random",
        flip: bool = False,
        transforms: str | Sequence[Step] | None = None,
        labels: Labels = None,
        workers: int | None = None,
        prefetch: int = 2,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        tail: str = "keep",
        drop_last: bool = False,
        dtype: str = "float32",
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
        if workers is None:
            workers = len(os.sched_getaffinity(0))
            if self._gpu >= 0:
                # Three feed the decoders, one is the caller's.
                workers = max(1, workers - 4)
        self._channels_last = bool(channels_last)
        self._dtype = _arguments.word("dtype", dtype, "float32 uint8")
        self._return_index = return_index
        self._seed = _arguments.whole("seed", seed, 0)
        self._shuffle = bool(shuffle)
        self._kind, self._path, files, array = _arguments.source(source)
        if self._gpu >= 0:
            _arguments.for_gpu(self._kind, output, pin_memory)
        _arguments.word("nvjpeg", nvjpeg, "auto hardware gpu both off")
        if self._gpu < 0 and nvjpeg != "auto":
            raise _arguments.wrong(
                "nvjpeg", nvjpeg, 'it with device="cuda" only'
            )
        channels = 3 if array is None else array.shape[3]
        self._settings = [
            f"source={self._kind}",
            f"path={self._path}",
            f"batch_size={self.batch_size}",
            f"crop={_arguments.whole('crop', crop, 1)}",
            "crop_position="
            + _arguments.word("crop_position", crop_position, "random center"),
            f"channels={channels}",
            f"flip={int(flip)}",
            f"workers={_arguments.whole('workers', workers, 0)}",
            f"prefetch={_arguments.whole('prefetch', prefetch, 1)}",
            f"shuffle={int(self._shuffle)}",
            f"seed={self._seed}",
            f"rank={self.rank}",
            f"world_size={self.world_size}",
            f"tail={_arguments.word('tail', self._tail, 'keep pad drop')}",
            f"on_error={_arguments.word('on_error', on_error, 'skip fail')}",
            f"format={dtype} {'last' if channels_last else 'first'}",
            f"mean={_arguments.numbers('mean', mean)}",
            f"std={_arguments.numbers('std', std)}",
            "read_ahead=auto",
            f"gpu={self._gpu}",
            f"nvjpeg={nvjpeg}",
            f"needs_labels={int(labels is None)}",
            *_arguments.steps(transforms),
        ]
        self._settings += _arguments.store_settings(
            self._kind,
            cache_folder=cache_dir,
            cache_bytes=cache_bytes,
            endpoint=endpoint,
            redirect_hosts=redirect_hosts,
            anonymous="true" if anonymous else None,
            connections=connections,
        )
        # Outlives the library's use of it.
        self._array = array
        self._pinning = self._make_pinning(pin_memory)
        self._open(files, array)
        self._names: list[str] | None = None
        #: Names of the folders that labels stand for; empty if they do not.
        self.classes: list[str] = []
        try:
            self.labels = self._make_labels(labels)
        except BaseException:
            self.close()
            raise
        self._warn_of_ranks()
        # Number of the next pass, and where it starts.
        self._epoch = 0
        self._position = 0
        self._pass: _Pass | None = None
        self._warned = 0

    # Iterating.

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._check_usable()
        self._forget_unused_pass()
        epoch, start = self._epoch, self._position
        code = self._library.feedrate_start(self._handle, epoch, start)
        if code != 0:
            _library.fail(code)
        self._pass = _Pass(self, epoch, start)
        # A pass that is left early is not continued, as with DataLoader.
        self._epoch, self._position = epoch + 1, 0
        return self._pass

    def __len__(self) -> int:
        """Batches of this rank in a whole epoch."""
        samples = self._samples(0)
        if self._splits(0):
            samples = self.size // self.world_size + 1
        return -(-samples // self.batch_size)

    @property
    def size(self) -> int:
        """Number of items, over all ranks."""
        return len(self.labels)

    @property
    def names(self) -> list[str]:
        """Path, address or number of each item."""
        if self._names is None:
            self._check_usable()
            self._names = _library.names(self._handle)
        return self._names

    @property
    def skipped(self) -> int:
        """How many images could not be used since the loader was made."""
        return self._faults()[0]

    # Where it is.

    @property
    def epoch(self) -> int:
        """Number of the current epoch, or of the next if none is under way."""
        return int(self.state_dict()["epoch"])

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch, which decides its order.

        Epochs count from 0 by themselves. A position that `load_state_dict`
        has set stays if it is in this epoch."""
        epoch = _arguments.whole("epoch", epoch, 0)
        self._forget_unused_pass()
        if epoch != self._epoch:
            self._epoch, self._position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        """Where the next batch starts, the same on all ranks.

        Any number of workers or ranks can continue there, with any batch size;
        all ranks must have taken the same number of full batches."""
        epoch, position = self._epoch, self._position
        if self._pass is not None and not self._pass.done:
            epoch, position = self._pass.epoch, self._pass.position
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
        for name in ("size", "seed", "shuffle"):
            if state[name] != mine[name]:
                raise ValueError(
                    f"load_state_dict: the state has {name}={state[name]} and"
                    f" this loader {name}={mine[name]}; make it with the same"
                    " data, seed and shuffle"
                )
        self._epoch = _arguments.whole("epoch", state["epoch"], 0)
        self._position = _arguments.whole("position", state["position"], 0)
        self._pass = None

    # The end.

    def close(self) -> None:
        """Ends the threads. Batches stay valid. May be called twice."""
        self._pass = None
        self._closer()

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

    def _forget_unused_pass(self) -> None:
        """An iterator that gave no batch is no epoch: Lightning makes one
        before each training."""
        last = self._pass
        if last and not last.done and last.position == last.start:
            self._epoch, self._position = last.epoch, last.start
            self._pass = None

    def _open(self, files: list[str], array: np.ndarray | None) -> None:
        self._library = _library.load()
        if self._gpu >= 0:
            _library.load_nvjpeg()
        self._pid = os.getpid()
        view = None
        if array is not None:
            view = _library.Array(array.ctypes.data, *array.shape)
        steps = any(text.startswith("step=") for text in self._settings)
        settings = [
            *self._settings,
            f"configs={_library.configs() if steps else ''}",
        ]
        waits = self._kind == "store"
        opens = _library.open_loader_apart if waits else _library.open_loader
        self._handle = handle = opens(settings, files, view, self._pinning)
        self._closer = weakref.finalize(
            self, _close, self._library, handle, self._pid, array
        )
        shape = (ctypes.c_int32 * 4)()
        self._library.feedrate_shape(handle, shape)
        channels, height, width, self._mixes = shape
        planes = (channels, height, width)
        self._shape = planes[1:] + planes[:1] if self._channels_last else planes

    def _make_pinning(self, wanted: bool) -> _library.Pinning | None:
        if not wanted or self._torch is None:
            return None
        if not self._torch.cuda.is_available():
            return None
        major = self._torch.version.cuda.split(".")[0]
        # Loaded already, by torch.
        cuda = ctypes.CDLL(f"libcudart.so.{major}")
        self._torch.cuda.init()
        return _library.Pinning(
            _library.PIN(("cudaHostRegister", cuda)),
            _library.UNPIN(("cudaHostUnregister", cuda)),
        )

    def _make_labels(self, given: Labels) -> np.ndarray:
        size = self._library.feedrate_size(self._handle)
        if callable(given):
            found = np.array([given(name) for name in self.names])
        elif given is not None:
            found = np.asarray(given)
        else:
            found = np.empty(size, np.int64)
            self._library.feedrate_labels(self._handle, found.ctypes.data)
            if self._kind != "array" and (found < 0).all():
                found = self._folder_labels()
        if found.shape != (size,) or found.dtype.kind not in "iu":
            raise ValueError(
                f"labels: is {found.dtype} of shape {found.shape}; needs"
                f" {size} integers, one per item in the order of loader.names"
            )
        found = np.ascontiguousarray(found, np.int64)
        if self._mixes and found.min() < 0:
            raise ValueError(
                "labels: an item has none, and mixing needs them; pass labels"
            )
        return found

    def _folder_labels(self) -> np.ndarray:
        """By the first folder below the source; -1 where all items are in
        it."""
        folders = [_arguments.folder(name, self._path) for name in self.names]
        self.classes = sorted(set(folders) - {""})
        number = {name: i for i, name in enumerate(self.classes)}
        return np.array([number.get(name, -1) for name in folders], np.int64)

    def _samples(self, start: int) -> int:
        self._check_usable()
        return int(self._library.feedrate_count(self._handle, start))

    def _splits(self, start: int) -> bool:
        """EpochShare::Splits of lib/loader/source/source.h."""
        least, rest = divmod(self.size - start, self.world_size)
        return (
            self._tail == "keep"
            and self.batch_size > 1
            and min(least, rest) > 0
            and least % self.batch_size == 0
        )

    def _faults(self) -> tuple[int, str]:
        self._check_usable()
        text = ctypes.c_char_p()
        total = self._library.feedrate_faults(self._handle, ctypes.byref(text))
        return total, os.fsdecode(text.value or b"")

    def _warn_of_ranks(self) -> None:
        """The first rank has most items, the last fewest."""
        least, rest = divmod(self.size, self.world_size)
        if (
            self._tail == "keep"
            and rest > 0
            and least % self.batch_size == 0
            and not self._splits(0)
        ):
            warnings.warn(
                f"feedrate.Loader: {self.size} items over {self.world_size}"
                " ranks give some ranks a batch more than others, and a"
                " training that waits for all ranks in each step would hang;"
                ' pass tail="pad" or tail="drop"',
                RuntimeWarning,
                stacklevel=3,
            )

    def _warn_of_faults(self) -> None:
        total, text = self._faults()
        if total == self._warned:
            return
        count, self._warned = total - self._warned, total
        first = text.split("\n")[0]
        warnings.warn(
            f"feedrate.Loader: {count} images could not be used in this epoch"
            f" and others took their place; the first is {first}",
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
        if self._passes_on or self._gpu >= 0:
            images = _library.DeviceBatch(batch, shape, self._gpu)
        else:
            images = np.asarray(_Memory(batch, shape, self))
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
        else:
            images = torch.from_numpy(images)
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


class _Pass:
    """One epoch, or what is left of it."""

    def __init__(self, loader: Loader, epoch: int, start: int) -> None:
        self._loader = loader
        self.epoch = epoch
        self.start = self.position = start
        self._left = loader._samples(start)
        self._splits = loader._splits(start)
        self._batches = 0
        self.done = self._left == 0

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> tuple[Any, ...]:
        loader = self._loader
        if self.done:
            raise StopIteration
        loader._check_usable()
        if loader._pass is not self:
            raise RuntimeError(
                "feedrate.Loader: a later loop has started; a loader runs one"
                " at a time, make a second one for another"
            )
        batch = _library.Batch()
        code = _library.DEADLINE_EXCEEDED
        while code == _library.DEADLINE_EXCEEDED:
            code = loader._library.feedrate_next(
                loader._handle, _WAIT_S, ctypes.byref(batch)
            )
        if code != 0:
            self.done = True
            raise RuntimeError(f"feedrate.Loader: {_library.message()}")
        self._left -= batch.size
        # EpochShare::StartAfter.
        self._batches += 1
        self.position += batch.size * loader.world_size
        if self._splits:
            full = self._batches * loader.batch_size * loader.world_size
            most = loader.size - loader.world_size
            self.position = min(self.start + full, most)
        if self._left <= 0:
            self.done = True
            loader._warn_of_faults()
        return loader._deliver(batch)


class _Memory:
    """A batch's memory, which goes back to the loader when no array uses it."""

    def __init__(
        self, batch: _library.Batch, shape: tuple[int, ...], loader: Loader
    ) -> None:
        self.__array_interface__ = {
            "data": (batch.data, False),
            "shape": shape,
            "typestr": "<f4" if loader._dtype == "float32" else "|u1",
            "version": 3,
        }
        self._release = (loader._library, batch.keep, loader._pid)

    def __del__(self) -> None:
        library, keep, pid = self._release
        if os.getpid() == pid:
            library.feedrate_release(keep)


def _close(library: Any, handle: Any, pid: int, _array: Any) -> None:
    # A forked process has the memory, but not the threads.
    if os.getpid() == pid:
        library.feedrate_close(handle)
