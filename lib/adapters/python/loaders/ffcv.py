"""FFCV's loader: one file, written before the clock starts, with the bytes of
JPEG files as they are and the pixels of other files. FFCV is imported after the
fork (recipes/ffcv.py)."""

import numpy as np
from loaders import processes
from loaders.epoch import Batch
from loaders.source import ItemError, converted
from loaders.spec import refuse_settings
from loaders.stream import join_ranks

_JPEG, _RAW = 0, 1  # FFCV's numbers.
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
        self._file = converted("ffcv", source, self._write) / _FILE
        self._items = self._seed = self._loader = self._iterator = None
        join_ranks(spec)

    def set_epoch(self, seed, first, count, epoch=0):
        items = [i % len(self._source) for i in range(first, first + count)]
        if items != self._items or seed != self._seed:
            self._loader = self._build(items, seed, self._spec.batch_size)
            # Its first batch compiles the code.
            self.start()
            next(self._iterator)
            self.stop()
            self._items, self._seed = items, seed
        self._loader.next_epoch = epoch

    def start(self):
        self._iterator = iter(self._loader)
        return self._batches(self._iterator)

    def stop(self):
        if self._iterator is not None:
            self._iterator.close()
            self._iterator.join()
        self._iterator = None

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
        import cv2
        from ffcv.writer import DatasetWriter

        # FFCV's writer would wait for ever, and its decoder notices nothing.
        for index in range(len(self._source)):
            path = self._source.path(index)
            if cv2.imread(path) is None:
                raise ItemError(f"item {index}, {path}: not an image")
        writer = DatasetWriter(
            str(folder / _FILE), {"image": _field()}, num_workers=1
        )
        writer.from_indexed_dataset(_Items(self._source))

    def _build(self, items, seed, batch_size, by_number=False):
        from ffcv.fields import RGBImageField
        from ffcv.loader import Loader, OrderOption

        spec = self._spec
        shuffles = spec.shuffle and not by_number
        loader = Loader(
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
        if self._recipe.starts_with_crop:
            self._check_sizes(loader.reader, items)
        return loader

    def _check_sizes(self, reader, items):
        (field,) = reader.metadata_type.names
        metadata = reader.metadata[field]
        for item in sorted(set(items)):
            sides = metadata[item]["height"], metadata[item]["width"]
            if min(sides) < self._spec.crop:
                path = self._source.path(item)
                raise ValueError(
                    f"item {item}, {path}: smaller than the crop of"
                    f" {self._spec.crop}, and FFCV cannot pad"
                )


def _field():
    """A field that takes the path of an image."""
    import cv2
    from ffcv.fields import RGBImageField

    class Field(RGBImageField):
        def encode(self, destination, path, malloc):
            image = cv2.imread(path)
            data = np.fromfile(path, np.uint8)
            is_jpeg = bytes(data[:2]) == b"\xff\xd8"
            if not is_jpeg:
                data = cv2.cvtColor(image, cv2.COLOR_BGR2RGB).reshape(-1)
            destination["mode"] = _JPEG if is_jpeg else _RAW
            destination["height"], destination["width"] = image.shape[:2]
            destination["data_ptr"], storage = malloc(data.nbytes)
            storage[:] = data

    return Field()
