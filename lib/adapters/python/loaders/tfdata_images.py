"""tf.data for images: a graph that reads, decodes and augments files, or images
in TFRecord files, in threads of one process.

The data set is made once per list of items. Each pass over it shuffles anew, by
the seed. Ranks take every n-th file, before the shuffle, as TensorFlow's guide
says.
"""

import base64
import json
import pathlib
import tempfile

import tensorflow as tf
from loaders import processes
from loaders.epoch import Batch
from loaders.source import ItemError
from loaders.spec import refuse_settings


class Loader:
    forks = False

    def __init__(self, source, recipe, spec, command):
        refuse_settings(spec, "tf.data")
        if spec.device != "cpu" or spec.copies_to_device or spec.ablation:
            raise ValueError("tf.data is measured whole, on the CPU, in memory")
        if spec.source not in ("files", "tfrecord"):
            raise ValueError("tf.data reads files and TFRecord files")
        self._in_records = spec.source == "tfrecord"
        self._call = recipe.call_record if self._in_records else recipe.call
        self._source = source
        self._spec = spec
        self._items = self._data = self._iterator = self._state = None

    def set_epoch(self, seed, first, count, epoch=0):
        if self._in_records and first % len(self._source):
            raise ValueError(
                "tf.data reads TFRecord files from their start; first is not 0"
            )
        items = [i % len(self._source) for i in range(first, first + count)]
        if items != self._items:
            self._data = self._build(items, seed, self._spec.batch_size)
            self._items = items
        self._state = None

    def state(self):
        """The files of TensorFlow's checkpoint, as text."""
        with tempfile.TemporaryDirectory() as folder:
            tf.train.Checkpoint(iterator=self._iterator).write(f"{folder}/at")
            return json.dumps(
                {
                    file.name: base64.b64encode(file.read_bytes()).decode()
                    for file in pathlib.Path(folder).iterdir()
                }
            )

    def resume(self, state):
        self._state = json.loads(state)

    def start(self):
        self._iterator = iter(self._data)
        if self._state is not None:
            checkpoint = tf.train.Checkpoint(iterator=self._iterator)
            with tempfile.TemporaryDirectory() as folder:
                for name, data in self._state.items():
                    file = pathlib.Path(folder) / name
                    file.write_bytes(base64.b64decode(data))
                checkpoint.read(f"{folder}/at").assert_consumed()
        return self._batches()

    def stop(self):
        # Its threads end with the last reference.
        self._iterator = None

    def outputs(self, indexes, seed):
        for batch in self._build(indexes, seed, 1, by_number=True):
            yield batch.numpy()[0]

    def cpu_s(self):
        return processes.cpu_s()

    def stages(self):
        return []

    def _batches(self):
        iterator = self._iterator
        while True:
            try:
                batch = next(iterator, None)
            except tf.errors.OpError as error:
                raise self._named(error) from error
            if batch is None:
                return
            array = batch.numpy()
            yield Batch(len(array), array.nbytes, [], array)

    def _named(self, error):
        """TensorFlow does not say which item it was: tries them one by one."""
        items = sorted(set(self._items))
        for item, element in zip(items, self._elements(items), strict=True):
            try:
                self._call(element, tf.constant(0))
            except tf.errors.OpError as again:
                path = self._source.path(item)
                return ItemError(f"item {item}, {path}: {again.message}")
        return error

    def _elements(self, items):
        """Paths of files, or records, by number: these are looked for from the
        start."""
        if not self._in_records:
            paths = [self._source.path(item) for item in items]
            return tf.data.Dataset.from_tensor_slices(paths)
        wanted = dict.fromkeys(items)
        for item, record in enumerate(
            tf.data.TFRecordDataset(self._source.files)
        ):
            if item in wanted:
                wanted[item] = record
        return tf.data.Dataset.from_tensor_slices(
            [wanted[item] for item in items]
        )

    def _build(self, items, seed, batch_size, by_number=False):
        spec, seed = self._spec, seed % 2**31
        threads = max(1, spec.workers)
        if self._in_records and not by_number:
            # Ten files in turns, as TensorFlow's guide says. Their number does
            # not depend on the threads.
            data = tf.data.TFRecordDataset(
                self._source.files, num_parallel_reads=tf.data.AUTOTUNE
            )
            data = data.repeat().take(len(items))
        else:
            data = self._elements(items)
        if spec.shuffle and not by_number:
            data = data.shard(spec.ranks, spec.rank)
            data = data.shuffle(
                len(items), seed=seed, reshuffle_each_iteration=True
            )
        draws = tf.data.Dataset.random(
            seed=seed, rerandomize_each_iteration=True
        )
        draws = draws.map(lambda draw: tf.cast(draw % 2**31, tf.int32))
        data = tf.data.Dataset.zip((data, draws)).map(
            self._call, num_parallel_calls=threads
        )
        data = data.batch(batch_size, drop_remainder=spec.drop_last)
        data = data.prefetch(spec.prefetch)
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        return data.with_options(options)
