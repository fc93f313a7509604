"""Shards of episodes for tests: plain frames that show their step."""

import json
import os

import tensorflow as tf


def frame(step, episode, size):
    """Uniform, so that JPEG keeps it: red is the step, green the episode."""
    height, width = size
    color = [20 + 10 * step, 20 + 10 * episode, 100]
    return tf.broadcast_to(tf.constant(color, tf.uint8), [height, width, 3])


def example(
    name, episode, steps, size=(32, 48), wide=2, without=(), integers=False
):
    """A serialized episode. without: features to leave out; integers: in
    place of floats, and as id."""
    frames = [
        tf.io.encode_jpeg(frame(i, episode, size), quality=95).numpy()
        for i in range(steps)
    ]
    numbers = [float(100 * i + j) for i in range(steps) for j in range(wide)]
    features = {
        "frames": _bytes(frames),
        "action": _floats(numbers),
        "state": _floats([-n for n in numbers]),
        "instruction": _bytes([f"do {name}".encode()]),
        "episode_id": _bytes([f"{name}-{episode}".encode()]),
    }
    if integers:
        features["action"] = _integers(int(n) for n in numbers)
        features["episode_id"] = _integers([episode])
    features = {k: v for k, v in features.items() if k not in without}
    return tf.train.Example(
        features=tf.train.Features(feature=features)
    ).SerializeToString()


def write_shard(path, records):
    with tf.io.TFRecordWriter(os.fspath(path)) as writer:
        for record in records:
            writer.write(record)
    return os.fspath(path)


def write_set(folder, name, shards=2, episodes=3, **episode):
    """The line of one data set, its shards written to folder/name."""
    (folder / name).mkdir()
    paths = [
        write_shard(
            folder / name / f"{shard}.tfrecord",
            [
                example(name, shard * episodes + i, **episode)
                for i in range(episodes)
            ],
        )
        for shard in range(shards)
    ]
    return {"name": name, "weight": 1.0, "shards": paths}


def write_list(sets):
    """A memory file of the data sets, as the runner makes it."""
    fd = os.memfd_create("sets", os.MFD_CLOEXEC)
    for one in sets:
        os.write(fd, (json.dumps(one) + "\n").encode())
    return fd


def _bytes(values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def _integers(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
