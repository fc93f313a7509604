#!/usr/bin/env python3
"""feedrate.Clips beside torchcodec in a DataLoader, as torchcodec's pages
recommend: the same frames, crop, normalization and batches.

    clips_bench.py [--rounds=20] [--workers=2]

Each round runs one after the other, on synthetic videos. Prints the differences
of pixels and the ratio of times with its 95% interval. Needs torch and
torchcodec; dev/bench.sh clips makes all of it.
"""

import argparse
import statistics
import time

import clip_cases  # Puts feedrate on the path.
import feedrate
import torch
from torch.utils.data import DataLoader, Dataset
from torchcodec.decoders import VideoDecoder

FRAMES, CROP, BATCH = 16, 224, 4
MEAN = torch.tensor((0.485, 0.456, 0.406)).view(3, 1, 1)
STD = torch.tensor((0.229, 0.224, 0.225)).view(3, 1, 1)


class Videos(Dataset):
    def __init__(self, files, rule):
        self.files = files
        self.rule = rule

    def __len__(self):
        return len(self.files)

    def frames(self, count):
        if self.rule == "uniform":
            step = (count - 1) / (FRAMES - 1)
            return [int(i * step) for i in range(FRAMES - 1)] + [count - 1]
        first = (count - FRAMES) // 2
        return list(range(first, first + FRAMES))

    def __getitem__(self, index):
        decoder = VideoDecoder(self.files[index], num_ffmpeg_threads=1)
        wanted = self.frames(decoder.metadata.num_frames)
        frames = decoder.get_frames_at(wanted).data
        y = (frames.shape[2] - CROP) // 2
        x = (frames.shape[3] - CROP) // 2
        frames = frames[:, :, y : y + CROP, x : x + CROP]
        return (frames.float() / 255 - MEAN) / STD, index


def seconds(loader):
    begin = time.monotonic()
    for _ in loader:
        pass
    return time.monotonic() - begin


def compare(container, options):
    files = [str(path) for path in clip_cases.paths(container, 24)]
    for rule in ("uniform", "consecutive"):
        theirs = DataLoader(
            Videos(files, rule),
            batch_size=BATCH,
            num_workers=options.workers,
            persistent_workers=True,
        )
        ours = feedrate.Clips(
            files,
            batch_size=BATCH,
            frames=FRAMES,
            sampling=rule,
            crop=CROP,
            crop_position="center",
            workers=options.workers,
        )
        gaps = [
            ((a[0] - b[0]).abs() * STD * 255).flatten()
            for a, b in zip(theirs, ours, strict=True)
        ]
        ratios, rates = [], []
        for _ in range(options.rounds):
            slow, fast = seconds(theirs), seconds(ours)
            ratios.append(slow / fast)
            rates.append(len(files) / fast)
        low, high = clip_cases.interval(ratios)
        print(
            f"{container}, {rule}: {statistics.median(rates):.1f} clips/s,"
            f" {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}] times"
            f" torchcodec; levels of difference: greatest"
            f" {max(gap.max() for gap in gaps):.0f}, mean"
            f" {statistics.mean(gap.mean().item() for gap in gaps):.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for container in ("avi", "mp4"):
        compare(container, options)


if __name__ == "__main__":
    main()
