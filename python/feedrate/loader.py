"""feedrate.Loader: the native loader of feedrate as a Python iterable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from feedrate import _arguments, _library
from feedrate._batches import IMAGENET_MEAN, IMAGENET_STD
from feedrate._labeled import Labeled

if TYPE_CHECKING:
    from feedrate._arguments import Labels, Step


class Loader(Labeled):
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
        its own codes; of an object in a store, only these bytes are requested,
        see ``loader.transfers``. With a GPU, its threads decode these codes,
        of whole objects. The pixels are those of the CPU without an index, and
        the files stay as they are. True keeps the index in the source's folder,
        as ``feedrate.jpegindex``.
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
        given = _arguments.source(source)
        if self._gpu >= 0:
            _arguments.for_gpu(output, pin_memory)
        if self._gpu >= 0 and given[0] in ("array", "store"):
            raise ValueError(
                "feedrate: source: an array or an address is not possible"
                ' with device="cuda"; use local files or shards, or'
                ' device="cpu"'
            )
        if self._gpu >= 0 and crop[0] != crop[1]:
            raise _arguments.wrong("crop", crop, 'one number, or device="cpu"')
        if index and nvjpeg not in ("auto", "off"):
            raise _arguments.wrong("nvjpeg", nvjpeg, "auto with an index")
        _arguments.word("nvjpeg", nvjpeg, "auto hardware gpu both off")
        if self._gpu < 0 and nvjpeg != "auto":
            raise _arguments.wrong(
                "nvjpeg", nvjpeg, 'it with device="cuda" only'
            )
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
            *self._items(
                given,
                labels,
                transforms,
                crop_position,
                flip,
                return_index,
                cache_folder=cache_dir,
                cache_bytes=cache_bytes,
                endpoint=endpoint,
                redirect_hosts=redirect_hosts,
                anonymous=anonymous,
                connections=connections,
            ),
            f"jpeg_index={_arguments.index(index, given[0], given[1])}",
            f"gpu={self._gpu}",
            f"nvjpeg={nvjpeg}",
        ]
        if self._gpu >= 0:
            _library.load_nvjpeg()
        self._open(settings, given[2], given[3], waits=given[0] == "store")
        self._reads_store = given[0] == "store"
        self._label(self.size)
        self._warn_of_ranks(0)
        self._warn_of_items()

    @property
    def transfers(self) -> dict[str, int] | None:
        """What was requested of the store so far; None of other sources.

        ``requests``, ``bytes`` received, ``retries``; and with an index the
        items of which a part was enough: ``part_items``, ``part_bytes`` of
        them, and ``part_of_bytes`` that they have as a whole.
        """
        if not self._reads_store:
            return None
        self._check_usable()
        return _library.about(self._handle)
