"""feedrate.Episodes gives for every item what lerobot's own data set gives.

The lerobot in the path writes the data, reads it, and is compared: 0.3.3 format
v2.1, 0.4.4 format v3.0, with videos and with images in the Parquet files.
Numbers, texts and marks of padding are equal to the bit, and so are the pixels
of images. Those of videos differ by a little, since each decoder converts
colors in its own way. dev/checks/lerobot_test.sh runs it with both.
"""

import json
import pathlib
import tempfile
import unittest

import feedrate
import numpy as np
import torch
from lerobot.datasets.lerobot_dataset import (
    CODEBASE_VERSION,
    LeRobotDataset,
)
from testing import lerobot_episodes as written

# Mean difference of the same frame of a video.
SAME = 4
FRAMES = [-2, 0, 1]
ACTIONS = [-1, 0, 1, 2, 5]
STATES = [-3, 0]


def seconds(steps):
    return [step / written.FPS for step in steps]


def stack(tensors, *rest):
    """lerobot 0.3.3 gives torch.stack columns of datasets, which were lists
    before version 4 of it."""
    return STACK(list(tensors), *rest)


STACK = torch.stack
torch.stack = stack


def to_v20(meta):
    """One file of statistics, which lerobot of v2.1 reads, of all episodes."""
    info = meta / "info.json"
    info.write_text(info.read_text().replace('"v2.1"', '"v2.0"'))
    episodes = meta / "episodes_stats.jsonl"
    first = json.loads(episodes.read_text().splitlines()[0])["stats"]
    (meta / "stats.json").write_text(json.dumps(first))
    episodes.unlink()


class EpisodesTest(unittest.TestCase):
    def compare(self, kind, change=None):
        with tempfile.TemporaryDirectory() as folder:
            self.compare_in(pathlib.Path(folder) / "set", kind, change)

    def compare_in(self, folder, kind, change=None):
        written.write(folder, kind)
        if change is not None:
            change(folder / "meta")
        theirs = LeRobotDataset(
            "feedrate/test",
            root=folder,
            delta_timestamps={
                **{name: seconds(FRAMES) for name in written.CAMERAS},
                "action": seconds(ACTIONS),
                "observation.state": seconds(STATES),
            },
            video_backend="torchcodec" if kind == "video" else None,
        )
        for camera, size in written.CAMERAS.items():
            mine = feedrate.Episodes(
                folder,
                batch_size=7,
                cameras=[camera],
                frames=seconds(FRAMES),
                actions=seconds(ACTIONS),
                state=seconds(STATES),
                crop=size,
                output="numpy",
                shuffle=True,
                workers=2,
            )
            self.assertEqual(mine.size, len(theirs))
            compared = set()
            for batch in mine:
                for i, index in enumerate(batch["index"].tolist()):
                    self.check(batch, i, theirs[index], camera, kind)
                    compared.add(index)
            mine.close()
            self.assertEqual(compared, set(range(len(theirs))))

    def check(self, batch, i, item, camera, kind):
        self.assertEqual(batch["index"][i], int(item["index"]))
        self.assertEqual(batch["episode"][i], int(item["episode_index"]))
        self.assertEqual(batch["step"][i], int(item["frame_index"]))
        self.assertEqual(batch["instruction"][i], item["task"])
        for mine, theirs in (
            ("action", "action"),
            ("action_is_pad", "action_is_pad"),
            ("state", "observation.state"),
            ("state_is_pad", "observation.state_is_pad"),
            (f"{camera}_is_pad", f"{camera}_is_pad"),
        ):
            wanted = item[theirs].numpy()
            np.testing.assert_array_equal(batch[mine][i], wanted, mine)
        frames = (item[camera].numpy() * 255).round().astype(int)
        difference = np.abs(batch[camera][i].astype(int) - frames)
        if kind == "image":
            self.assertEqual(difference.max(), 0)
        else:
            self.assertLess(difference.mean((1, 2, 3)).max(), SAME)

    def test_videos(self):
        self.compare("video")

    def test_images_in_parquet(self):
        self.compare("image")

    @unittest.skipIf(CODEBASE_VERSION != "v2.1", "reads no v2.0")
    def test_v20(self):
        """What the lerobot of v2.1 still reads."""
        self.compare("image", to_v20)


if __name__ == "__main__":
    unittest.main()
