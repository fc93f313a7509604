"""A mixture as a graph of tf.data, as its users write it.

Every data set: shards in a new order each pass, `read_interleave` of them in
turns, episodes drawn from a shuffle buffer, pairs of frames out of each. Then
blocks of one data set at a time, decoding, batches, a queue, and NumPy arrays.
The order of samples depends on the seed alone, whatever runs in parallel.

An int32 with the number of the data set travels with every sample: without it
nobody could say what a batch is made of. `dataset_only` adds its name, `full`
the episode, the step, the instruction, action and state.
"""

import numpy as np
import tensorflow as tf
from loaders import processes
from loaders.mixture import MixedBatch
from loaders.source import ItemError
from loaders.tfdata_episodes import (
    faults_of,
    pairs_of,
    plain_python,
    records_of,
    widths_of,
)


class Mixture:
    def __init__(self, sets, spec):
        for one in sets:
            if one.shards[0].endswith("/meta/info.json"):
                raise ValueError(
                    f"mixture: {one.name} is a LeRobot data set, which tf.data"
                    " does not read; take --libraries=native"
                )
        self._spec = spec
        self._faults = []
        self.left_out = []
        if spec.on_error == "skip":
            # ignore_errors tells nobody what it leaves out, and a data set
            # without an episode would be asked forever: look before.
            self._faults, usable = faults_of(sets, spec)
            self.left_out = [
                one.name
                for one, count in zip(sets, usable, strict=True)
                if count == 0
            ]
        self._numbers = [
            i for i, one in enumerate(sets) if one.name not in self.left_out
        ]
        if not self._numbers:
            raise ValueError("mixture: no data set has a usable episode")
        self._sets = [sets[i] for i in self._numbers]
        self._iterator = None
        # Samples given, and those that failed in between.
        self._given = self._lost = 0

    def start(self, seed):
        widths = self._named_if_bad(lambda: widths_of(self._sets, self._spec))
        graph = build(self._sets, self._spec, widths, seed)
        self._iterator = graph.as_numpy_iterator()
        self._given = self._lost = 0
        return self._batches()

    def stop(self):
        # The iterator's threads end with its last reference.
        self._iterator = None

    def cpu_s(self):
        return processes.cpu_s()

    def faults(self):
        return self._faults

    @property
    def faults_total(self):
        return len(self._faults) + self._lost

    def _batches(self):
        iterator = self._iterator
        while True:
            batch = self._named_if_bad(lambda: next(iterator))
            nbytes = sum(array.nbytes for array in batch.values())
            yield MixedBatch(self._counted(batch), nbytes)

    def _counted(self, batch):
        found = np.bincount(batch["dataset"], minlength=len(self._sets))
        self._given += len(batch["dataset"])
        if "place" in batch:
            self._lost = int(batch["place"][-1]) + 1 - self._given
        return [
            int(value)
            for i in np.flatnonzero(found)
            for value in (self._numbers[i], found[i])
        ]

    def _named_if_bad(self, work):
        """TensorFlow does not say which file it was: looks for it."""
        try:
            return work()
        except tf.errors.OpError as error:
            found, _ = faults_of(self._sets, self._spec, most=1)
            if not found:
                raise
            text = f"{found[0]['path']}: {found[0]['reason']}"
            raise ItemError(text) from error


@plain_python
def build(sets, spec, widths, seed):
    """The endless data set of batches. widths: see widths_of."""
    sources = [
        _samples(number, one, spec, widths, seed)
        for number, one in enumerate(sets)
    ]
    mixed = tf.data.Dataset.choose_from_datasets(
        sources, _choices(sets, spec, seed), stop_on_empty_dataset=True
    )
    if spec.on_error == "skip":
        # A gap in the places is a sample that could not be decoded.
        mixed = mixed.enumerate().map(
            lambda place, sample: sample | {"place": place}
        )
    decoded = mixed.map(
        lambda sample: _decoded(sample, spec),
        num_parallel_calls=spec.threads,
        deterministic=True,
    )
    if spec.on_error == "skip":
        decoded = decoded.ignore_errors()
    batches = decoded.batch(spec.batch_size, drop_remainder=True)
    batches = batches.prefetch(spec.queue_depth)
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = spec.threads
    # The settings say how much runs at once; nothing is tuned behind them.
    options.autotune.enabled = False
    return batches.with_options(options)


def _samples(number, one, spec, widths, seed):
    """Samples of a data set, frames still compressed, without end."""
    own_seed = (seed * 1_000_003 + number) % 2**31
    records = tf.data.Dataset.from_tensor_slices(one.shards)
    records = records.shuffle(
        len(one.shards), seed=own_seed, reshuffle_each_iteration=True
    )
    records = records.interleave(
        lambda path: records_of(path, one),
        cycle_length=spec.read_interleave,
        num_parallel_calls=spec.read_interleave,
        deterministic=True,
    )
    if spec.on_error == "skip":
        records = records.ignore_errors()
    records = records.shuffle(
        spec.shuffle_buffer, seed=own_seed + 1, reshuffle_each_iteration=True
    ).repeat()
    draws = tf.data.Dataset.random(seed=own_seed + 2)
    pairs = tf.data.Dataset.zip((records, draws)).map(
        lambda record, draw: pairs_of(record, draw, number, one, spec, widths)
    )
    if spec.on_error == "skip":
        pairs = pairs.ignore_errors()
    # Every data set works ahead by itself; more data sets are open at once the
    # more blocks each of them has ready.
    ahead = spec.mix_block_length * spec.pipeline_interleave
    return pairs.unbatch().prefetch(ahead)


def _choices(sets, spec, seed):
    """Numbers of data sets: each in turn until it is primed, then by weight in
    blocks."""
    weights = np.array([one.weight for one in sets], np.float64)
    logits = tf.constant(np.log(weights)[None, :], tf.float32)

    def block(place):
        seeds = tf.stack([tf.constant(seed % 2**62, tf.int64), place])
        choice = tf.random.stateless_categorical(logits, 1, seeds)
        return tf.repeat(tf.reshape(choice, [1]), spec.mix_block_length)

    drawn = tf.data.Dataset.counter().map(block).unbatch()
    primed = np.repeat(
        np.arange(len(sets), dtype=np.int64), spec.prime_each_dataset_samples
    )
    return tf.data.Dataset.from_tensor_slices(primed).concatenate(drawn)


def _decoded(sample, spec):
    """The sample with both frames in `frames`, [2, height, width, 3]."""
    decoded = dict(sample)
    size = (spec.frame_height, spec.frame_width)
    pair = [_frame(decoded.pop(key), size) for key in ("first", "second")]
    decoded["frames"] = tf.stack(pair)
    return decoded


def _frame(data, size):
    """The middle of a larger frame, zeros around a smaller one."""
    is_png = tf.strings.substr(data, 0, 4) == b"\x89PNG"
    frame = tf.cond(
        is_png,
        lambda: _png_middle(data, size),
        lambda: _jpeg_middle(data, size),
    )
    kept = tf.shape(frame)[:2]
    before = (size - kept) // 2
    after = size - kept - before
    padding = [[before[0], after[0]], [before[1], after[1]], [0, 0]]
    return tf.ensure_shape(tf.pad(frame, padding), [*size, 3])


def _jpeg_middle(data, size):
    """Only what is kept is decoded. Not by the default transform, whose pixels
    differ from those of other decoders."""
    shape = tf.io.extract_jpeg_shape(data)[:2]
    kept = tf.minimum(shape, size)
    start = (shape - kept) // 2
    return tf.io.decode_and_crop_jpeg(
        data,
        tf.concat([start, kept], 0),
        channels=3,
        dct_method="INTEGER_ACCURATE",
    )


def _png_middle(data, size):
    frame = tf.io.decode_png(data, channels=3)
    shape = tf.shape(frame)[:2]
    kept = tf.minimum(shape, size)
    start = (shape - kept) // 2
    return frame[start[0] : start[0] + kept[0], start[1] : start[1] + kept[1]]
