"""FFCV's loader: one file, written before the clock starts, with the bytes of
JPEG files as they are and the pixels of other files. FFCV is imported after the
fork (recipes/ffcv.py)."""

import contextlib
import multiprocessing
import queue

import numpy as np
import PIL.Image
from loaders import processes
from loaders.epoch import Batch
from loaders.source import ItemError, converted
from loaders.spec import refuse_settings
from loaders.stream import join_ranks

_JPEG, _RAW = 0, 1  # FFCV's numbers.
_PAGE = 1 << 23  # FFCV's default.
_FILE = "images.beton"


class _Items:
    def __init__(self, source):
        self._source = source

    def __len__(self):
        return len(self._source)

    def __getitem__(self, index):
        return (self._source.path(index),)


class Loader:
    forks = False

    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "FFCV")
        if spec.device != "cpu" or spec.copies_to_device or spec.ablation:
            raise ValueError("FFCV is measured whole, on the CPU, in memory")
        if not source.decodes or spec.source != "files":
            raise ValueError("FFCV's file is written from files")
        self._source = source
        self._recipe = recipe
        self._spec = spec
        # FFCV cannot pad, so its file has no image smaller than the crop.
        self._least = spec.crop if recipe.starts_with_crop else 0
        kind = f"ffcv_{self._least}"
        self._file = converted(kind, source, self._write) / _FILE
        self._items = self._seed = self._loader = self._iterator = None
        join_ranks(spec)

    def set_epoch(self, seed, first, count, epoch=0):
        items = [i % len(self._source) for i in range(first, first + count)]
        if items != self._items or seed != self._seed:
            self._loader = self._build(items, seed, self._spec.batch_size)
            # Its first batch compiles the code.
            self.start()
            next(self._iterator, None)
            self.stop()
            self._items, self._seed = items, seed
        self._loader.next_epoch = epoch

    def start(self):
        self._iterator = iter(self._loader)
        return self._batches(self._iterator)

    def stop(self):
        iterator, self._iterator = self._iterator, None
        if iterator is None:
            return
        iterator.close()
        # Its thread would make the rest first, and wait for room in the queue
        # for the end of it.
        iterator.iter_ixes = iter(())
        while iterator.is_alive():
            with contextlib.suppress(queue.Empty):
                iterator.output_queue.get(timeout=0.01)
        iterator.join()

    def outputs(self, indexes, seed):
        for (batch,) in self._build(indexes, seed, 1, by_number=True):
            yield batch.numpy()[0].copy()

    def cpu_s(self):
        return processes.cpu_s()

    def stages(self):
        return []

    def _batches(self, iterator):
        for (batch,) in iterator:
            array = batch.numpy()
            yield Batch(len(array), array.nbytes, [], array)

    def _write(self, folder):
        # FFCV's writer would wait for ever for an item that fails or is larger
        # than a page, and its decoder notices nothing.
        largest = 1
        for index in range(len(self._source)):
            path = self._source.path(index)
            try:
                largest = max(largest, len(_stored(path, self._least)[1]))
            except ValueError as error:
                raise ItemError(f"item {index}, {path}: {error}") from error
        page = max(_PAGE, 1 << (largest - 1).bit_length())
        # Elsewhere: outputs are made in a fork of this process.
        writer = multiprocessing.get_context("fork").Process(
            target=_write_file,
            args=(folder / _FILE, self._source, page, self._least),
        )
        writer.start()
        writer.join()
        if writer.exitcode != 0:
            raise RuntimeError(f"FFCV's writer ended with {writer.exitcode}")

    def _build(self, items, seed, batch_size, by_number=False):
        from ffcv.fields import RGBImageField
        from ffcv.loader import Loader, OrderOption

        spec = self._spec
        shuffles = spec.shuffle and not by_number
        return Loader(
            str(self._file),
            batch_size=batch_size,
            num_workers=max(1, spec.workers),
            os_cache=True,
            order=OrderOption.RANDOM if shuffles else OrderOption.SEQUENTIAL,
            distributed=shuffles and spec.ranks > 1,
            seed=seed % 2**31,
            indices=items,
            pipelines={"image": self._recipe.operations()},
            custom_fields={"image": RGBImageField},
            drop_last=spec.drop_last and not by_number,
            batches_ahead=max(1, spec.prefetch),
        )


def _write_file(file, source, page, least):
    from ffcv.writer import DatasetWriter

    writer = DatasetWriter(
        str(file), {"image": _field(least)}, page_size=page, num_workers=1
    )
    writer.from_indexed_dataset(_Items(source))


def _stored(path, least):
    """The image without regard to its orientation, what FFCV stores of it, and
    how: bytes of a file that its decoder can decode, or pixels, with zeros
    around them where a side is less than `least`."""
    import cv2

    flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    image = cv2.imread(path, flags)
    if image is None:
        raise ValueError("not an image that OpenCV can read")
    with PIL.Image.open(path) as header:
        # libjpeg-turbo makes no RGB of CMYK.
        keeps = header.format == "JPEG" and header.mode in ("L", "RGB")
    height, width = image.shape[:2]
    if keeps and min(height, width) >= least:
        return image, np.fromfile(path, np.uint8), _JPEG
    missing = [max(0, least - side) for side in (height, width)]
    top, left = (side // 2 for side in missing)
    image = cv2.copyMakeBorder(
        image,
        top,
        missing[0] - top,
        left,
        missing[1] - left,
        cv2.BORDER_CONSTANT,
        value=0,
    )
    return image, cv2.cvtColor(image, cv2.COLOR_BGR2RGB).reshape(-1), _RAW


def _field(least):
    """A field that takes the path of an image."""
    from ffcv.fields import RGBImageField

    class Field(RGBImageField):
        def encode(self, destination, path, malloc):
            image, data, mode = _stored(path, least)
            destination["mode"] = mode
            destination["height"], destination["width"] = image.shape[:2]
            destination["data_ptr"], storage = malloc(data.nbytes)
            storage[:] = data

    return Field()
