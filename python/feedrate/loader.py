"""feedrate.Loader: the native loader of feedrate as a Python iterable."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedrate import _arguments, _library
from feedrate._batches import IMAGENET_MEAN, IMAGENET_STD, Batches

if TYPE_CHECKING:
    from feedrate._arguments import Labels, Step


class Loader(Batches):
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
      index: True, or the path of a file: JPEG files are indexed in the first
        epoch, and decoded from inside in later ones, so that a crop reads only
        its own codes. The pixels are the same, and so are the files. True keeps
        the index in the source's folder, as ``feedrate.jpegindex``.
      cache_dir, cache_bytes: a local cache of what addresses deliver, and how
        large it may become.
      endpoint, redirect_hosts, anonymous, connections: how a store is
        reached; see docs/storage.md.

    Raises:
      ValueError, TypeError: name the argument that is not possible.
      FileNotFoundError: there is no such data.
    """

    _name = "feedrate.Loader"
    _unit = "image"

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
        index: bool | str | os.PathLike[str] = False,
        cache_dir: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        endpoint: str | None = None,
        redirect_hosts: str | None = None,
        anonymous: bool = False,
        connections: int | None = None,
    ) -> None:
        pin_memory = _arguments.flag("pin_memory", pin_memory)
        crop = _arguments.crop(crop)
        _arguments.word("output", output, "torch numpy dlpack")
        torch = _arguments.torch() if output == "torch" else None
        self._passes_on = output == "dlpack"
        self._gpu = _arguments.device(device, torch)
        workers = _arguments.workers(workers, num_workers, self._gpu >= 0)
        self._return_index = _arguments.flag("return_index", return_index)
        self._kind, self._path, files, array = _arguments.source(source)
        if self._gpu >= 0:
            _arguments.for_gpu(self._kind, output, pin_memory, crop)
        if self._gpu >= 0 and index:
            raise _arguments.wrong("index", index, 'it with device="cpu" only')
        _arguments.word("nvjpeg", nvjpeg, "auto hardware gpu both off")
        if self._gpu < 0 and nvjpeg != "auto":
            raise _arguments.wrong(
                "nvjpeg", nvjpeg, 'it with device="cuda" only'
            )
        channels = 3 if array is None else array.shape[3]
        classes = _arguments.classes(labels)
        steps = _arguments.steps(transforms)
        settings = [
            "kind=images",
            *self._share(
                batch_size=batch_size,
                crop=crop,
                workers=workers,
                prefetch=prefetch,
                shuffle=shuffle,
                seed=seed,
                rank=rank,
                world_size=world_size,
                tail=tail,
                drop_last=drop_last,
                dtype=dtype,
                mean=mean,
                std=std,
                channels_last=channels_last,
                torch=torch,
                output=output,
                pin_memory=pin_memory,
                on_error=on_error,
            ),
            f"source={self._kind}",
            f"path={self._path}",
            "crop_position="
            + _arguments.word("crop_position", crop_position, "random center"),
            f"channels={channels}",
            f"flip={int(_arguments.flag('flip', flip))}",
            "read_ahead=auto",
            f"jpeg_index={_arguments.index(index, self._kind, self._path)}",
            f"gpu={self._gpu}",
            f"nvjpeg={nvjpeg}",
            f"needs_labels={int(labels is None or bool(classes))}",
            *[f"class={name}" for name in classes],
            *steps,
            f"configs={_library.configs() if steps else ''}",
            *_arguments.store_settings(
                self._kind,
                cache_folder=cache_dir,
                cache_bytes=cache_bytes,
                endpoint=endpoint,
                redirect_hosts=redirect_hosts,
                anonymous=(
                    "true" if _arguments.flag("anonymous", anonymous) else None
                ),
                connections=connections,
            ),
        ]
        self._value_type = getattr(torch or np, self._dtype)
        if self._gpu >= 0:
            _library.load_nvjpeg()
        self._open(settings, files, array, waits=self._kind == "store")
        facts = self._facts
        self._mixes = facts.mixes
        planes = (facts.channels, facts.height, facts.width)
        self._shape = planes[1:] + planes[:1] if self._channels_last else planes
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

    @property
    def names(self) -> list[str]:
        """Path, address or number of each item."""
        if self._names is None:
            self._check_usable()
            self._names = _library.names(self._handle)
        return self._names

    # Parts.

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
            warnings.warn(f"{self._name}: {text}", RuntimeWarning, stacklevel=3)

    def _deliver(self, batch: _library.Batch) -> tuple[Any, ...]:
        items = np.ctypeslib.as_array(batch.items, (batch.size,)).copy()
        labels: Any = self._labels_of(items, batch.own_share)
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
