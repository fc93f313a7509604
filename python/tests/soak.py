#!/usr/bin/env python3
"""Memory of feedrate.Episodes and feedrate.Clips over an hour of decoding, and
of an order over a day of samples.

    soak.py [--minutes=60] [--hours=24]

Batches of a mixture (videos and images of three data sets) and of clips are
read for so many minutes; every minute both are closed and go on elsewhere from
their states. Then as many samples as 1,800 per second make in so many hours are
read without frames. Exits with 3 if the memory of the process grows by 1 MB per
hour or more, as the line of least squares over all but the first sixth says.

Needs //lib/loader/python:feedrate_loader, //lib/loader/mixture:feedrate_frames
and //lib/media/video:write_videos.
"""

import argparse
import os
import sys
import time

import clip_cases  # Puts feedrate on the path.
import feedrate
import numpy as np
from episode_cases import NEW, OLD, RLDS

RATE = 1800
LIMIT = 1e6


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def slope(times, bytes_):
    """Bytes per hour."""
    kept = np.asarray(times) >= times[-1] / 6
    return np.polyfit(np.asarray(times)[kept], np.asarray(bytes_)[kept], 1)[0]


def tell(what, times, bytes_):
    """Whether it grows too much."""
    grows = slope(times, bytes_)
    print(
        f"{what}: {times[-1]:.2f} hours, {bytes_[-1] / 1e6:.1f} MB,"
        f" {grows / 1e6:+.3f} MB per hour",
        flush=True,
    )
    return grows >= LIMIT


def episodes(seed):
    return feedrate.Episodes(
        {os.fspath(NEW): 2.0, os.fspath(OLD): 1.0, os.fspath(RLDS): 1.0},
        batch_size=16,
        cameras={
            "front": {
                "new": "observation.images.top",
                "old": "observation.images.top",
                "arm": "image",
            }
        },
        crop=64,
        frames=[-1, 0],
        actions=range(8),
        shuffle=True,
        workers=2,
        output="numpy",
        seed=seed,
    )


def clips():
    return feedrate.Clips(
        clip_cases.videos(),
        batch_size=2,
        frames=8,
        stride=4,
        resize=128,
        crop=112,
        shuffle=True,
        workers=2,
        output="numpy",
    )


def decode(hours):
    times, bytes_, samples = [], [], 0
    begin = time.monotonic()
    states = [None, None]
    while not times or times[-1] < hours:
        opened = [episodes(1), clips()]
        iterators = []
        for one, state in zip(opened, states, strict=True):
            if state is not None:
                one.load_state_dict(state)
            iterators.append(iter(one))
        end = time.monotonic() + min(60, hours * 600)
        while time.monotonic() < end:
            for place, one in enumerate(opened):
                for _ in range(4):
                    batch = next(iterators[place], None)
                    if batch is None:
                        iterators[place] = iter(one)
                        continue
                    samples += len(batch[0] if place else batch["step"])
                    del batch
        states = [one.state_dict() for one in opened]
        for one in opened:
            one.close()
        del opened, one, iterators
        times.append((time.monotonic() - begin) / 3600)
        bytes_.append(memory())
    print(f"{samples:,} samples decoded", flush=True)
    return tell("decoding", times, bytes_)


def order(hours):
    """Time is that of the samples."""
    data = feedrate.Episodes(
        {os.fspath(NEW): 2.0, os.fspath(RLDS): 1.0},
        batch_size=4096,
        cameras=[],
        shuffle=True,
        workers=2,
        output="numpy",
    )
    times, bytes_, samples = [], [], 0
    for number, batch in enumerate(data):
        samples += len(batch["step"])
        if number % 100 == 99:
            times.append(samples / RATE / 3600)
            bytes_.append(memory())
            if times[-1] >= hours:
                break
    return tell("order", times, bytes_)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--hours", type=float, default=24)
    options = parser.parse_args()
    grows = [decode(options.minutes / 60), order(options.hours)]
    sys.exit(3 if any(grows) else 0)


if __name__ == "__main__":
    main()
