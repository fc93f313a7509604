#!/usr/bin/env python3
"""feedrate.Episodes beside tf.data as octo and OpenVLA read RLDS: the same
steps, resized to the same size by the same filter.

    episodes_bench.py [--rounds=20] [--workers=2] [--episodes=40]

Each round reads all steps once on each side, one after the other: shuffled
steps with action chunks, in batches of numpy arrays. Theirs are whole episodes
that are read in a random order, cut into steps, shuffled in a buffer, and then
decoded and resized (dlimp's resize_image). Prints the differences of pixels and
the ratios of times, and of processor times, with their 95% intervals. Needs
TensorFlow; dev/bench.sh episodes makes all of it.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

import clip_cases  # Puts feedrate on the path.
import feedrate
import numpy as np
import tensorflow as tf

STEPS, SHARDS = 50, 8
SIDE, WANTED, BATCH, CHUNK = 256, 224, 64, 4
# Theirs have 10,000 and more; a smaller one is in their favor.
BUFFER = 1000


def picture(episode, step):
    y, x = np.mgrid[:SIDE, :SIDE]
    shift = 7 * step + 31 * episode
    waves = [
        100 + 60 * np.sin((x + shift) / 17) + 40 * np.cos(y / 23),
        90 + 70 * np.cos((y - shift) / 29),
        110 + 60 * np.sin((x + y + shift) / 41),
    ]
    noise = np.random.default_rng([episode, step]).integers(
        0, 24, (SIDE, SIDE, 3)
    )
    return np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)


def write(folder, episodes):
    def feature(values):
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(str(folder / f"{shard}.tfrecord")) as file:
            for episode in range(shard, episodes, SHARDS):
                numbers = [100.0 * episode + step for step in range(STEPS)]
                features = {
                    "frames": [
                        tf.io.encode_jpeg(picture(episode, i)).numpy()
                        for i in range(STEPS)
                    ],
                    "action": [n + j / 8 for n in numbers for j in range(7)],
                    "state": [-n for n in numbers for _ in range(8)],
                    "instruction": [b"do it"],
                }
                made = {name: feature(of) for name, of in features.items()}
                example = tf.train.Example(
                    features=tf.train.Features(feature=made)
                )
                file.write(example.SerializeToString())


def theirs(folder):
    texts = tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)
    floats = tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)
    wanted = {
        "frames": texts,
        "action": floats,
        "state": floats,
        "instruction": texts,
    }

    @tf.autograph.experimental.do_not_convert
    def steps_of(record):
        episode = tf.io.parse_single_example(record, wanted)
        actions = tf.reshape(episode["action"], [-1, 7])
        count = tf.shape(actions)[0]
        chunks = tf.range(count)[:, None] + tf.range(CHUNK)
        return {
            "image": episode["frames"],
            "action": tf.gather(actions, tf.minimum(chunks, count - 1)),
            "state": tf.reshape(episode["state"], [-1, 8]),
            "instruction": tf.repeat(episode["instruction"], count),
        }

    @tf.autograph.experimental.do_not_convert
    def decode(step):
        image = tf.io.decode_image(step["image"], expand_animations=False)
        image = tf.image.resize(
            image, (WANTED, WANTED), method="lanczos3", antialias=True
        )
        image = tf.cast(tf.clip_by_value(tf.round(image), 0, 255), tf.uint8)
        return {**step, "image": image}

    files = tf.data.Dataset.list_files(str(folder / "*.tfrecord"), shuffle=True)
    return (
        files.interleave(
            tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE
        )
        .map(steps_of, num_parallel_calls=tf.data.AUTOTUNE)
        .unbatch()
        .shuffle(BUFFER)
        .map(decode, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(2)
        .as_numpy_iterator
    )


def ours(folder, workers):
    data = feedrate.Episodes(
        folder,
        batch_size=BATCH,
        actions=range(CHUNK),
        resize=WANTED,
        interpolation="lanczos",
        channels_last=True,
        output="numpy",
        shuffle=True,
        workers=workers,
    )
    return lambda: iter(data)


def samples(read):
    """By what their first action is."""
    return {
        float(action[0, 0]): (image.copy(), action.copy())
        for batch in read()
        for image, action in zip(batch["image"], batch["action"], strict=True)
    }


def seconds(read):
    """Of the clock, and of processors, which a busy machine changes less."""
    begin = np.array((time.monotonic(), time.process_time()))
    for _ in read():
        pass
    return np.array((time.monotonic(), time.process_time())) - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder, options.episodes)
        slow, fast = theirs(folder), ours(folder, options.workers)
        wanted, found = samples(slow), samples(fast)
        assert wanted.keys() == found.keys()
        assert len(found) == options.episodes * STEPS
        gaps = []
        for key, (image, action) in wanted.items():
            np.testing.assert_array_equal(action, found[key][1])
            gaps.append(np.abs(image.astype(int) - found[key][0]))
        ratios, rates = [], []
        for _ in range(options.rounds):
            took, mine = seconds(slow), seconds(fast)
            ratios.append(took / mine)
            rates.append(len(found) / mine[0])
        print(
            f"{statistics.median(rates):,.0f} samples/s; levels of difference:"
            f" greatest {max(gap.max() for gap in gaps)}, mean"
            f" {statistics.mean(gap.mean() for gap in gaps):.2f}"
        )
        for i, what in enumerate(("time", "processor time")):
            both = [float(ratio[i]) for ratio in ratios]
            low, high = clip_cases.interval(both)
            print(
                f"{what}: {statistics.median(both):.2f} [{low:.2f}, {high:.2f}]"
                " times that of feedrate.Episodes"
            )


if __name__ == "__main__":
    main()
