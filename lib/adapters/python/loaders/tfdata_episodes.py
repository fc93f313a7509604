"""Episodes in TensorFlow: from a tf.train.Example to samples, and what is wrong
with those that give none."""

import tensorflow as tf

# Features of an episode. docs/mixture.md says what they hold.
FRAMES = "frames"
ACTION = "action"
STATE = "state"
INSTRUCTION = "instruction"
EPISODE = "episode_id"

# For functions that make graphs. AutoGraph would rewrite what they map so that
# Python's `if` and `while` could depend on tensors. None here does, and each
# rewritten function is a file in the temporary folder, which nobody removes
# when a process is killed or leaves by os._exit.
plain_python = tf.autograph.experimental.do_not_convert


def parse(record, spec):
    """The features that the metadata mode needs, by name."""
    texts = tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)
    floats = tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)
    wanted = {FRAMES: texts}
    if spec.metadata == "full":
        wanted |= {ACTION: floats, STATE: floats}
        wanted[INSTRUCTION] = tf.io.FixedLenFeature([], tf.string)
        wanted[EPISODE] = tf.io.FixedLenFeature([], tf.string)
    return tf.io.parse_single_example(record, wanted)


def pairs_of(record, draw, number, name, spec, widths):
    """The samples of one episode, stacked. draw: a random int64."""
    episode = parse(record, spec)
    frames = episode[FRAMES]
    steps = tf.size(frames)
    first = tf.range(_pair_count(steps, spec))
    if spec.samples_per_episode > 0:
        seeds = tf.stack([draw, tf.constant(number, tf.int64)])
        first = tf.random.experimental.stateless_shuffle(first, seeds)
        first = first[: spec.samples_per_episode]
    samples = {
        "first": tf.gather(frames, first),
        "second": tf.gather(frames, first + spec.pair_offset),
        "dataset": tf.fill(tf.shape(first), number),
    }
    return samples | _metadata(episode, first, steps, name, spec, widths)


@plain_python
def widths_of(sets, spec):
    """Numbers per step in the widest action and state of all data sets, seen in
    the first episode of each. Narrower ones are padded with zeros, so that all
    have one shape. Empty if the metadata mode needs neither."""
    if spec.metadata != "full":
        return {}
    widths = {ACTION: 0, STATE: 0}
    for one in sets:
        records = tf.data.TFRecordDataset(one.shards).map(
            lambda record: parse(record, spec)
        )
        if spec.on_error == "skip":
            records = records.ignore_errors()
        for episode in records.take(1):
            steps = max(1, len(episode[FRAMES]))
            for name in widths:
                wide = len(episode[name]) // steps
                widths[name] = max(widths[name], wide)
    return widths


def faults_of(sets, spec, most=None):
    """What TensorFlow cannot use in one pass over the data sets, as {"item",
    "path", "reason"}, and how many episodes of each it can use. Looks for at
    most `most` faults."""
    faults, usable = [], [0] * len(sets)
    for number, one in enumerate(sets):
        for path in one.shards:
            good, bad = _read_through(path, spec)
            usable[number] += good
            faults += bad
            if most is not None and len(faults) >= most:
                return faults[:most], usable
    return faults, usable


@plain_python
def _read_through(path, spec):
    def check(record):
        episode = parse(record, spec)
        _pair_count(tf.size(episode[FRAMES]), spec)
        return 0

    good, bad, item = 0, [], 0
    records = iter(tf.data.TFRecordDataset(path).map(check))
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


def _pair_count(steps, spec):
    """How many pairs an episode has; an error where they are too few."""
    count = steps - spec.pair_offset
    least = max(1, spec.samples_per_episode)
    missing = tf.debugging.assert_positive(
        steps, f"the feature {FRAMES} is missing or empty"
    )
    too_few = tf.debugging.assert_greater_equal(
        count,
        least,
        f"its {FRAMES} are too few for {least} pairs {spec.pair_offset} steps"
        " apart; lower samples_per_episode or pair_offset",
    )
    with tf.control_dependencies([missing, too_few]):
        return tf.identity(count)


def _metadata(episode, first, steps, name, spec, widths):
    if spec.metadata == "none":
        return {}
    shape = tf.shape(first)
    added = {"dataset_name": tf.fill(shape, name)}
    if spec.metadata == "full":
        added["episode_id"] = tf.fill(shape, episode[EPISODE])
        added["step"] = first
        added["instruction"] = tf.fill(shape, episode[INSTRUCTION])
        for feature, wide in widths.items():
            rows = tf.reshape(episode[feature], [steps, -1])
            rows = tf.gather(rows, first)
            rows = tf.pad(rows, [[0, 0], [0, wide - tf.shape(rows)[1]]])
            added[feature] = tf.ensure_shape(rows, [None, wide])
    return added
