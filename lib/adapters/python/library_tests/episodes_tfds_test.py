"""feedrate.Episodes gives every step that tensorflow-datasets reads of data
that it wrote, byte for byte: frames, actions, states, instructions.

dev/checks/python_mixture_test.sh runs it.
"""

import os
import pathlib
import tempfile
import unittest

import feedrate
import numpy as np
import tensorflow_datasets as tfds
from library_tests.tfds_test import decoded
from testing import tfds_episodes

SIZE = (48, 40)
ACTIONS = [-1, 0, 2]


class EpisodesTest(unittest.TestCase):
    def compare(self, encoding, bare, camera):
        with tempfile.TemporaryDirectory() as folder:
            path = tfds_episodes.write(
                pathlib.Path(folder),
                f"arm_{encoding}",
                encoding,
                size=SIZE,
                bare=bare,
                camera=camera,
            )
            self.compare_in(path, bare, camera)

    def compare_in(self, path, bare, camera):
        mine = feedrate.Episodes(
            path,
            batch_size=5,
            cameras=[camera],
            actions=ACTIONS,
            crop=SIZE,
            channels_last=True,
            output="numpy",
            shuffle=True,
            workers=2,
        )
        # By what is in each episode: TFDS shuffles them when it writes.
        steps = {}
        for batch in mine:
            for i in range(len(batch["step"])):
                key = int(batch["episode"][i]), int(batch["step"][i])
                steps[key] = {name: batch[name][i] for name in batch}
        self.assertEqual(len(steps), mine.size)
        mine.close()
        skip = {camera: tfds.decode.SkipDecoding()}
        data = tfds.builder_from_directory(os.fspath(path)).as_dataset(
            "train",
            decoders={"steps": {"observation": skip}},
            read_config=tfds.ReadConfig(interleave_cycle_length=1),
        )
        compared = 0
        for number, episode in enumerate(tfds.as_numpy(data)):
            theirs = list(episode["steps"])
            for step, one in enumerate(theirs):
                found = steps[number, step]
                last = len(theirs) - 1
                wanted = [
                    self.action(theirs[min(max(step + k, 0), last)], bare)
                    for k in ACTIONS
                ]
                np.testing.assert_array_equal(found["action"], wanted)
                frame = decoded(one["observation"][camera])
                np.testing.assert_array_equal(found[camera], frame)
                if not bare:
                    state = one["observation"]["state"]
                    np.testing.assert_array_equal(found["state"], state)
                    text = one["language_instruction"].decode()
                    self.assertEqual(found["instruction"], text)
                compared += 1
        self.assertEqual(compared, len(steps))

    def action(self, step, bare):
        action = step["action"]
        return [*action["grip"], *action["move"]] if bare else action

    def test_jpegs(self):
        self.compare("jpeg", bare=False, camera="image")

    def test_pngs_without_state_and_text(self):
        self.compare("png", bare=True, camera="wrist")


if __name__ == "__main__":
    unittest.main()
