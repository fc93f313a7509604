"""LeRobot data sets that lerobot writes, read by the native loader.

Compares every sample with what lerobot's own loader gives for the same item
(format v3.0), and with the rows and PyAV's frames (format v2.1). Pixels differ
a little, since each converts colors in its own way. dev/checks/lerobot_test.sh
runs it. With --bench it compares speeds instead, in alternating rounds with two
workers: samples of two frames per second of the program in $MIXTURE and of
feedrate.Episodes, which crop them, and of torch's DataLoader over lerobot's
data set, all shuffled; and steps of whole episodes in their order, beside what
FFmpeg takes to decode them.
"""

import concurrent.futures
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import av
import feedrate
import numpy as np
import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from testing import lerobot_episodes as written

ROOT = pathlib.Path(__file__).resolve().parents[4]

SIZE = 64
CHUNK = 3
CAMERA = next(iter(written.CAMERAS))
PAIRS = sum(written.steps_of(e) - 1 for e in range(written.EPISODES))
# Enough that every pair of every data set comes; the draws are seeded.
SAMPLES = 40 * PAIRS
# Mean difference of the same frame, and of two neighbors.
SAME, ANOTHER = 4, 20


def middle(frame):
    top = (frame.shape[0] - SIZE) // 2
    left = (frame.shape[1] - SIZE) // 2
    return frame[top : top + SIZE, left : left + SIZE].astype(int)


def opened(folder, actions):
    later = [k / written.FPS for k in range(actions)]
    return LeRobotDataset(
        "feedrate/test",
        root=folder,
        delta_timestamps={"action": later, CAMERA: later[:2]},
        video_backend="torchcodec",
    )


class LerobotTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        written.write(cls.folder / "new")
        written.write(cls.folder / "still", "image")
        subprocess.run(
            [sys.executable, "-m", "testing.lerobot_episodes"]
            + [os.fspath(cls.folder / "old")],
            check=True,
            env=os.environ | {"PYTHONPATH": os.environ["OLD_PYTHONPATH"]},
            stderr=subprocess.DEVNULL,
        )
        pixels = cls.folder.parent / f"{cls.folder.name}.rgb"
        cls.addClassCleanup(lambda: pixels.unlink(missing_ok=True))
        done = subprocess.run(
            [os.environ["DUMP_SAMPLES"], cls.folder, str(SAMPLES), str(SIZE)]
            + [str(CHUNK), pixels],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        frames = np.fromfile(pixels, np.uint8).reshape(-1, 2, SIZE, SIZE, 3)
        cls.samples = {}
        for i, line in enumerate(done.stdout.splitlines()):
            one = json.loads(line)
            key = (one["dataset"], int(one["episode_id"]), one["step"])
            cls.samples[key] = (one, frames[i].astype(int))

    def check(self, key, actions, state, padded, task, frames):
        one, found = self.samples[key]
        self.assertEqual(one["action"], np.ravel(actions).tolist(), key)
        self.assertEqual(one["state"], state.tolist(), key)
        self.assertEqual(one["action_padded"], padded, key)
        self.assertEqual(one["instruction"], task, key)
        for mine, theirs in zip(found, frames, strict=True):
            self.assertLess(np.abs(mine - theirs).mean(), SAME, key)
        self.assertGreater(np.abs(found[0] - frames[1]).mean(), ANOTHER, key)

    def compare_with_lerobot(self, name):
        """Item by item, with windows of actions and a pair of frames."""
        data = opened(self.folder / name, CHUNK)
        compared = 0
        for item in data:
            if item[f"{CAMERA}_is_pad"].any():
                continue
            frames = (item[CAMERA].numpy() * 255).round().astype(np.uint8)
            self.check(
                (name, int(item["episode_index"]), int(item["frame_index"])),
                item["action"].numpy(),
                item["observation.state"].numpy(),
                int(item["action_is_pad"].sum()),
                item["task"],
                [middle(frame.transpose(1, 2, 0)) for frame in frames],
            )
            compared += 1
        self.assertEqual(compared, PAIRS)
        keys = [key for key in self.samples if key[0] == name]
        self.assertEqual(len(keys), PAIRS)

    def test_new_format(self):
        self.compare_with_lerobot("new")

    def test_images_in_parquet(self):
        self.compare_with_lerobot("still")

    def test_old_format(self):
        videos = self.folder / "old/videos/chunk-000" / CAMERA
        for episode in range(written.EPISODES):
            with av.open(videos / f"episode_{episode:06}.mp4") as video:
                frames = [
                    middle(frame.to_ndarray(format="rgb24"))
                    for frame in video.decode(video=0)
                ]
            steps = written.steps_of(episode)
            self.assertEqual(len(frames), steps)
            for step in range(steps - 1):
                rows = [
                    written.action_of(episode, min(step + k, steps - 1))
                    for k in range(CHUNK)
                ]
                self.check(
                    ("old", episode, step),
                    np.stack(rows),
                    written.state_of(episode, step),
                    max(0, step + CHUNK - steps),
                    written.task_of(episode),
                    frames[step : step + 2],
                )


def samples_per_second(folder, per_episode):
    """Of one run of `mixture`."""
    done = subprocess.run(
        [
            os.environ["MIXTURE"],
            f"--config={ROOT}/configs/mixture/bench.textproto",
            f"--dataset={folder}",
            "--num_runs=1",
            "--batch_size=64",
            f"--sweep=steps=40;warmup=8;samples_per_episode={per_episode}",
            "--batches=/dev/null",
            "--output=-",
            "--quiet_wait=0",
            "--stable_within=0",
        ],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    records = map(json.loads, done.stdout.splitlines())
    (row,) = (
        r for r in records if r["record"] == "row" and r["library"] != "null"
    )
    return row["throughput"]


def opened_by_us(folder, **arguments):
    return feedrate.Episodes(
        folder,
        batch_size=64,
        cameras=[CAMERA],
        crop=224,
        workers=2,
        **arguments,
    )


def per_second(batches, key):
    start = time.perf_counter()
    items = sum(len(batch[key]) for batch in batches)
    return items / (time.perf_counter() - start)


class Clip(ctypes.Structure):
    """feedrate_clip_facts of lib/loader/mixture/video_plugin.h."""

    _fields_ = [
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("frames", ctypes.c_int64),
        ("codec", ctypes.c_char * 32),
    ]


def decoded_per_second(folder, threads=2):
    """What FFmpeg takes alone: all frames of all videos in order, of which
    nothing but a corner is converted or kept."""
    frames = ctypes.CDLL(
        ROOT / "bazel-bin/lib/loader/mixture/libfeedrate_frames.so"
    )
    frames.feedrate_clip_open.restype = ctypes.c_void_p
    take = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(lambda *_: None)

    def decode(path):
        clip, error = Clip(), ctypes.create_string_buffer(512)
        reader = frames.feedrate_clip_open(
            os.fsencode(path), None, 0, ctypes.byref(clip), error, len(error)
        )
        assert reader, error.value
        reader = ctypes.c_void_p(reader)
        all_frames = (ctypes.c_int64 * clip.frames)(*range(clip.frames))
        corner = (ctypes.c_int32 * 4)(0, 0, 2, 2)
        assert frames.feedrate_clip_read(
            *(reader, all_frames, ctypes.c_int64(clip.frames), corner),
            *(take, None, error, ctypes.c_size_t(len(error))),
        ), error.value
        frames.feedrate_clip_close(reader)
        return clip.frames

    # One file has many episodes: each thread gets the same work.
    files = [*folder.rglob("*.mp4")] * threads
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        count = sum(pool.map(decode, files))
    return count / (time.perf_counter() - start)


def bench(rounds=20):
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "set"
        written.write(data, sizes={CAMERA: (240, 320)}, episodes=30)
        how = {"batch_size": 64, "num_workers": 2, "persistent_workers": True}
        data_loader = torch.utils.data.DataLoader
        pairs = data_loader(opened(data, 2), shuffle=True, **how)
        steps = data_loader(
            LeRobotDataset("feedrate/test", root=data), shuffle=False, **how
        )
        ours = opened_by_us(data, frames=[0, 1], actions=[0, 1], shuffle=True)
        whole = opened_by_us(data)
        sides = {
            "lerobot": lambda: per_second(pairs, "index"),
            "native": lambda: samples_per_second(folder, 1),
            "native, whole episodes": lambda: samples_per_second(folder, 0),
            "feedrate.Episodes": lambda: per_second(ours, "index"),
            "lerobot, steps in order": lambda: per_second(steps, "index"),
            "feedrate.Episodes, episodes()": lambda: per_second(
                whole.episodes(), "index"
            ),
            "decoding alone, steps in order": lambda: decoded_per_second(data),
        }
        for side in sides.values():
            side()
        speeds = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                speeds[name].append(side())
    for name, values in speeds.items():
        base = "lerobot"
        if name.endswith(("episodes()", "in order")):
            base = "lerobot, steps in order"
        both = zip(values, speeds[base], strict=True)
        ratios = sorted(mine / theirs for mine, theirs in both)
        # The 6th and the 15th of 20 enclose the median 96 times in 100.
        rank = rounds * 5 // 20
        ratio = statistics.median(ratios)
        low, high = ratios[rank], ratios[-1 - rank]
        print(
            f"{name}: {statistics.median(values):,.0f} samples/s, "
            f"{ratio:.2f} [{low:.2f}, {high:.2f}] times {base}"
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--bench"]:
        bench()
    else:
        unittest.main()
