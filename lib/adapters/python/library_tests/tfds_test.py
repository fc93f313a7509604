"""Data sets that tensorflow-datasets wrote: the native loader and tf.data's
mixture deliver what tensorflow-datasets reads, byte for byte.

    DUMP_SAMPLES=bazel-bin/lib/adapters/native/dump_samples \
      <environment>/bin/python -m library_tests.tfds_test

dev/checks/python_mixture_test.sh runs it.
"""

import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from loaders import mixture, tfdata
from loaders.tfdata_episodes import widths_of
from testing import tfds_episodes

EPISODES, STEPS, SIZE = 4, 6, 44
# All pairs of one pass over the largest data set, with room for the draws.
SAMPLES = 1600

WHOLE = {
    "image": "steps/observation/image",
    "action": ("steps/action",),
    "state": ("steps/observation/state",),
    "instruction": "steps/language_instruction",
    "episode_id": "episode_metadata/file_path",
}
BARE = {
    "image": "steps/observation/wrist",
    "action": ("steps/action/grip", "steps/action/move"),
    "state": (),
    "instruction": "",
    "episode_id": "",
}


def middle(frame):
    """As tf.image.resize_with_crop_or_pad."""
    out = np.zeros((SIZE, SIZE, 3), np.uint8)
    kept = [min(SIZE, side) for side in frame.shape[:2]]
    start = [(s - k) // 2 for s, k in zip(frame.shape[:2], kept, strict=True)]
    to = [(SIZE - k) // 2 for k in kept]
    out[to[0] : to[0] + kept[0], to[1] : to[1] + kept[1]] = frame[
        start[0] : start[0] + kept[0], start[1] : start[1] + kept[1]
    ]
    return out


def decoded(data):
    """By TensorFlow. Its default for JPEG is a transform that is off by a level
    or two."""
    if data.startswith(b"\x89PNG"):
        return tf.io.decode_png(data, channels=3).numpy()
    accurate = "INTEGER_ACCURATE"
    return tf.io.decode_jpeg(data, channels=3, dct_method=accurate).numpy()


def digest(frame):
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()


def line(dataset, episode, step, text, action, state, first, second):
    """One sample as text, so that sets of samples can be compared."""
    return json.dumps(
        [dataset, episode, int(step), text, list(map(float, action))]
        + [list(map(float, state)), first, second]
    )


class TfdsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        how = {"episodes": EPISODES, "steps": STEPS}
        write = tfds_episodes.write
        cls.paths = {
            "jpegs": write(cls.folder, "jpegs", "jpeg", **how),
            "pngs": write(cls.folder, "pngs", "png", size=(30, 60), **how),
            "bare": write(
                cls.folder, "bare", "png", bare=True, camera="wrist", **how
            ),
            "packed": write(cls.folder, "packed", "jpeg", **how),
        }
        cls.expected = {
            name: set(cls.samples(name, path))
            for name, path in cls.paths.items()
        }
        # tensorflow-datasets reads no compressed shards; others write them.
        for shard in cls.paths["packed"].glob("*.tfrecord*"):
            shard.write_bytes(gzip.compress(shard.read_bytes()))

    @classmethod
    def samples(cls, name, path):
        """What tensorflow-datasets itself reads."""
        camera = "wrist" if name == "bare" else "image"
        skip = {camera: tfds.decode.SkipDecoding()}
        data = tfds.builder_from_directory(os.fspath(path)).as_dataset(
            "train", decoders={"steps": {"observation": skip}}
        )
        for episode in tfds.as_numpy(data):
            steps = list(episode["steps"])
            meta = episode["episode_metadata"]
            frames = [
                digest(middle(decoded(s["observation"][camera]))) for s in steps
            ]
            for i, step in enumerate(steps[:-1]):
                action = step["action"]
                if name == "bare":
                    action = [*action["grip"], *action["move"]]
                yield line(
                    name,
                    meta.get("file_path", b"").decode(),
                    i,
                    step.get("language_instruction", b"").decode(),
                    action,
                    step["observation"].get("state", []),
                    frames[i],
                    frames[i + 1],
                )

    def compare(self, found):
        for name, expected in self.expected.items():
            self.assertEqual(len(expected), EPISODES * (STEPS - 1))
            mine = {text for text in found if json.loads(text)[0] == name}
            self.assertEqual(mine, expected, name)

    def native_lines(self):
        done = subprocess.run(
            [os.environ["DUMP_SAMPLES"], self.folder, str(SAMPLES), str(SIZE)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return [json.loads(text) for text in done.stdout.splitlines()]

    def test_native(self):
        keys = ("dataset", "episode_id", "step", "instruction")
        keys += ("action", "state", "first", "second")
        self.compare(
            {line(*(one[k] for k in keys)) for one in self.native_lines()}
        )

    def test_tfdata(self):
        sets = [
            mixture.EpisodeSet(
                name=name,
                weight=1.0,
                shards=sorted(map(os.fspath, path.glob("*.tfrecord*"))),
                **(BARE if name == "bare" else WHOLE),
            )
            for name, path in sorted(self.paths.items())
        ]
        spec = mixture.MixtureSpec(
            batch_size=16,
            samples_per_episode=0,
            metadata="full",
            decode_parallelism=2,
            frame_height=SIZE,
            frame_width=SIZE,
        )
        graph = tfdata.build(sets, spec, widths_of(sets, spec), 3)
        found = set()
        for batch in graph.take(SAMPLES // 16).as_numpy_iterator():
            for i, number in enumerate(batch["dataset"]):
                name = sets[number].name
                # Narrower rows are padded.
                wide = (4, 0) if name == "bare" else (7, 5)
                found.add(
                    line(
                        name,
                        batch["episode_id"][i].decode(),
                        batch["step"][i],
                        batch["instruction"][i].decode(),
                        batch["action"][i][: wide[0]],
                        batch["state"][i][: wide[1]],
                        *(digest(frame) for frame in batch["frames"][i]),
                    )
                )
        self.compare(found)


if __name__ == "__main__":
    unittest.main()
