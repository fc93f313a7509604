"""tf.data for images: a graph that reads, decodes and augments files in threads
of one process.

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
        if not source.decodes or spec.source != "files":
            raise ValueError("tf.data reads files")
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self._items = self._data = self._iterator = self._state = None

    def set_epoch(self, seed, first, count, epoch=0):
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
        for batch in self._build(indexes, seed, 1, shuffle=False):
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
        """TensorFlow does not say which file it was: tries them one by one."""
        for item in self._items:
            path = self._source.path(item)
            try:
                self._recipe.call(tf.constant(path), tf.constant(0))
            except tf.errors.OpError as again:
                return ItemError(f"item {item}, {path}: {again.message}")
        return error

    def _build(self, items, seed, batch_size, shuffle=True):
        spec, seed = self._spec, seed % 2**31
        threads = max(1, spec.workers)
        paths = [self._source.path(item) for item in items]
        data = tf.data.Dataset.from_tensor_slices(paths)
        if spec.shuffle and shuffle:
            data = data.shard(spec.ranks, spec.rank)
            data = data.shuffle(
                len(paths), seed=seed, reshuffle_each_iteration=True
            )
        draws = tf.data.Dataset.random(
            seed=seed, rerandomize_each_iteration=True
        )
        draws = draws.map(lambda draw: tf.cast(draw % 2**31, tf.int32))
        data = tf.data.Dataset.zip((data, draws)).map(
            self._recipe.call, num_parallel_calls=threads
        )
        data = data.batch(batch_size, drop_remainder=spec.drop_last)
        data = data.prefetch(spec.prefetch)
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        return data.with_options(options)
