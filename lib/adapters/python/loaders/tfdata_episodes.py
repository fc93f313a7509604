"""Episodes in TensorFlow: from a tf.train.Example to samples, and what is wrong
with those that give none."""

import tensorflow as tf
from google.protobuf.message import DecodeError

ACTION = "action"
STATE = "state"

# For functions that make graphs. AutoGraph would rewrite what they map so that
# Python's `if` and `while` could depend on tensors. None here does, and each
# rewritten function is a file in the temporary folder, which nobody removes
# when a process is killed or leaves by os._exit.
plain_python = tf.autograph.experimental.do_not_convert


def records_of(path, one):
    """The records of a shard, or of all shards in a list."""
    return tf.data.TFRecordDataset(path, compression_type=_compression(one))


def _compression(one):
    """Of all shards of a data set, as its first one begins. No TFRecord file
    of less than 134 MB begins like this."""
    with open(one.shards[0], "rb") as file:
        return "GZIP" if file.read(3) == b"\x1f\x8b\x08" else ""


def _integers_of(one):
    """The names of features that are integers, as in its first record. Empty
    where that cannot be read."""
    try:
        with tf.init_scope():
            for record in records_of(one.shards[0], one).take(1):
                example = tf.train.Example.FromString(record.numpy())
                features = example.features.feature.items()
                return {k for k, v in features if v.HasField("int64_list")}
    except (tf.errors.OpError, DecodeError, OSError):
        pass
    return set()


def parse(record, spec, one):
    """The features that the metadata mode needs, by their names in `one`.
    Integers become floats, or text in an id."""
    texts = tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)
    floats = tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)
    whole = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)
    if not one.image:
        raise ValueError(f"mixture: {one.name} has no feature with images")
    wanted = {one.image: texts}
    integers = set()
    if spec.metadata == "full":
        integers = _integers_of(one)
        wanted |= {
            name: whole if name in integers else floats
            for name in [*one.action, *one.state]
        }
        if one.instruction:
            wanted[one.instruction] = texts
        if one.episode_id:
            wanted[one.episode_id] = tf.io.FixedLenFeature(
                [], tf.int64 if one.episode_id in integers else tf.string
            )
    episode = tf.io.parse_single_example(record, wanted)
    for name in integers & set(episode):
        episode[name] = (
            tf.strings.as_string(episode[name])
            if name == one.episode_id
            else tf.cast(episode[name], tf.float32)
        )
    return episode


def pairs_of(record, draw, number, one, spec, widths):
    """The samples of one episode, stacked. draw: a random int64."""
    episode = parse(record, spec, one)
    frames = episode[one.image]
    steps = tf.size(frames)
    first = tf.range(_pair_count(steps, spec, one))
    if spec.samples_per_episode > 0:
        seeds = tf.stack([draw, tf.constant(number, tf.int64)])
        first = tf.random.experimental.stateless_shuffle(first, seeds)
        first = first[: spec.samples_per_episode]
    samples = {
        "first": tf.gather(frames, first),
        "second": tf.gather(frames, first + spec.pair_offset),
        "dataset": tf.fill(tf.shape(first), number),
    }
    return samples | _metadata(episode, first, steps, one, spec, widths)


@plain_python
def widths_of(sets, spec):
    """Numbers per step in the widest action and state of all data sets, seen in
    the first episode of each. Narrower ones are padded with zeros, so that all
    have one shape. Empty if the metadata mode needs neither."""
    if spec.metadata != "full":
        return {}
    widths = {ACTION: 0, STATE: 0}
    for one in sets:
        records = records_of(one.shards, one).map(
            lambda record, one=one: parse(record, spec, one)
        )
        if spec.on_error == "skip":
            records = records.ignore_errors()
        for episode in records.take(1):
            steps = max(1, len(episode[one.image]))
            for name in widths:
                features = getattr(one, name)
                wide = sum(len(episode[f]) // steps for f in features)
                widths[name] = max(widths[name], wide)
    return widths


def faults_of(sets, spec, most=None):
    """What TensorFlow cannot use in one pass over the data sets, as {"item",
    "path", "reason"}, and how many episodes of each it can use. Looks for at
    most `most` faults."""
    faults, usable = [], [0] * len(sets)
    for number, one in enumerate(sets):
        for path in one.shards:
            good, bad = _read_through(path, spec, one)
            usable[number] += good
            faults += bad
            if most is not None and len(faults) >= most:
                return faults[:most], usable
    return faults, usable


@plain_python
def _read_through(path, spec, one):
    def check(record):
        episode = parse(record, spec, one)
        _pair_count(tf.size(episode[one.image]), spec, one)
        return 0

    good, bad, item = 0, [], 0
    records = iter(records_of(path, one).map(check))
    while True:
        try:
            next(records)
            good += 1
        except StopIteration:
            return good, bad
        except tf.errors.OpError as error:
            reason = f"record {item}: {_first_words(error)}"
            bad.append({"item": item, "path": path, "reason": reason})
        item += 1


def _first_words(error):
    """Without the names of graph nodes that follow."""
    text = error.message.removeprefix("{{function_node ")
    text = text.split("}} ")[-1].split("[[")[0].split("[Op:")[0]
    return " ".join(text.split())


def _pair_count(steps, spec, one):
    """How many pairs an episode has; an error where they are too few."""
    count = steps - spec.pair_offset
    least = max(1, spec.samples_per_episode)
    missing = tf.debugging.assert_positive(
        steps, f"the feature {one.image} is missing or empty"
    )
    too_few = tf.debugging.assert_greater_equal(
        count,
        least,
        f"its {one.image} are too few for {least} pairs {spec.pair_offset}"
        " steps apart; lower samples_per_episode or pair_offset",
    )
    with tf.control_dependencies([missing, too_few]):
        return tf.identity(count)


def _metadata(episode, first, steps, one, spec, widths):
    if spec.metadata == "none":
        return {}
    shape = tf.shape(first)
    added = {"dataset_name": tf.fill(shape, one.name)}
    if spec.metadata == "full":
        added["episode_id"] = tf.fill(shape, episode.get(one.episode_id, ""))
        added["step"] = first
        # One per step, or one for all.
        texts = episode.get(one.instruction, tf.constant([""]))
        added["instruction"] = tf.gather(
            texts, tf.minimum(first, tf.size(texts) - 1)
        )
        for feature, wide in widths.items():
            parts = [
                tf.reshape(episode[name], [steps, -1])
                for name in getattr(one, feature)
            ]
            rows = tf.concat([*parts, tf.zeros([steps, 0])], axis=1)
            rows = tf.pad(rows, [[0, 0], [0, wide - tf.shape(rows)[1]]])
            taken = first
            if feature == ACTION and spec.action_chunk > 1:
                # The last action is repeated where the episode ends.
                later = first[:, None] + tf.range(spec.action_chunk)
                taken = tf.minimum(later, steps - 1)
            rows = tf.gather(rows, taken)
            added[feature] = tf.ensure_shape(
                rows, [None] * (rows.shape.rank - 1) + [wide]
            )
    return added
