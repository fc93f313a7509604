"""LeRobot data sets that lerobot itself writes.

    <environment>/bin/python -m testing.lerobot_episodes FOLDER [KIND]

writes one to FOLDER, in the format of the lerobot in the path: 0.3.3 writes
v2.1, 0.4.4 writes v3.0. KIND is `video`, or `image` for images in the Parquet
files. Row i of episode e has the numbers that library_tests/lerobot_test.py and
lib/loader/mixture/lerobot_test.cc expect.
"""

import os
import pathlib
import sys

# Nothing is looked up.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("SVT_LOG", "0")

import numpy as np  # noqa: E402
from lerobot.datasets import lerobot_dataset  # noqa: E402

FPS = 30
EPISODES = 3
ACTION = 3
STATE = 2
# Height and width by camera.
CAMERAS = {"observation.images.top": (96, 128), "observation.wrist": (64, 64)}


def steps_of(episode):
    return 8 + 2 * episode


def picture(episode, step, size):
    """Smooth, and far from those of all other steps."""
    y, x = np.mgrid[: size[0], : size[1]]
    flat = np.full_like(x, (40 * step + 90 * episode) % 256)
    return np.stack([flat, y + x, 255 - flat], -1).astype(np.uint8)


def action_of(episode, step):
    return np.arange(ACTION, dtype=np.float32) / 4 + 100 * episode + step


def state_of(episode, step):
    return -np.arange(STATE, dtype=np.float32) - step


def task_of(episode):
    return f"do thing {episode % 2}"


def write(folder, kind="video", sizes=CAMERAS, episodes=EPISODES):
    features = {
        "observation.state": {"dtype": "float32", "shape": (STATE,)},
        "action": {"dtype": "float32", "shape": (ACTION,)},
    }
    for camera, size in sizes.items():
        features[camera] = {"dtype": kind, "shape": (*size, 3)}
    for feature in features.values():
        has_axes = len(feature["shape"]) == 3
        axes = ["height", "width", "channels"]
        feature["names"] = axes if has_axes else None
    data = lerobot_dataset.LeRobotDataset.create(
        "feedrate/test",
        fps=FPS,
        features=features,
        root=folder,
        use_videos=kind == "video",
    )
    is_old = lerobot_dataset.CODEBASE_VERSION < "v3"
    for episode in range(episodes):
        for step in range(steps_of(episode)):
            frame = {
                "action": action_of(episode, step),
                "observation.state": state_of(episode, step),
            }
            for camera, size in sizes.items():
                frame[camera] = picture(episode, step, size)
            if is_old:
                data.add_frame(frame, task=task_of(episode))
            else:
                data.add_frame(frame | {"task": task_of(episode)})
        data.save_episode()
    if not is_old:
        data.finalize()


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), *sys.argv[2:])
