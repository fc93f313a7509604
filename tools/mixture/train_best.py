#!/usr/bin/env python3
"""Trains alternately with the best settings of a study.

    tools/mixture/train_best.py --dataset=FOLDER --output=train.jsonl best.jsonl

Prints how fast a small ViT trains if a mixture with these settings feeds it,
and how much of a step it waits for data. A loader that is faster than the
training needs gains nothing: then all waits are near zero. With --minutes no
round begins after that time, and a line says how many there were.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import study


def settings_text(settings):
    """As --mixture of `train` takes them. The length of a measurement and the
    size of frames are the training's own business."""
    own = ("steps", "warmup", "frame_size")
    return ";".join(
        f"{name}={value}"
        for name, value in sorted(settings.items())
        if name not in own
    )


def train_once(settings, flags):
    """The row of one training; exits where there is none."""
    command = [
        study.program("train"),
        f"--model={flags.model}",
        "--scope=e2e",
        "--loader=mixture",
        f"--mixture={settings_text(settings)}",
        f"--dataset={flags.dataset}",
        f"--batch_size={flags.batch_size}",
        f"--warmup_steps={flags.warmup}",
        f"--measured_steps={flags.steps}",
        "--output=-",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    with open(flags.output, "a") as file:
        file.write(done.stdout)
    records = map(json.loads, done.stdout.splitlines())
    rows = [record for record in records if record["record"] == "row"]
    if not rows or rows[-1]["status"] != "ok":
        sys.exit(f"train: {rows[-1]['reason'] if rows else done.stderr}")
    return rows[-1]


def lines_of(best, rows):
    """One line per setting, compared with the first within rounds."""
    lines = []
    speeds = [[row["throughput"] for row in of_one] for of_one in rows]
    for one, of_one, own in zip(best, rows, speeds, strict=True):
        waits = [row["train"]["data_wait_share"] for row in of_one]
        lines.append(
            f"  {one['from']}: {statistics.median(own):,.1f} images/s, waits"
            f" {100 * statistics.median(waits):.1f}% of a step"
            f" (loader alone {one['samples_per_s']:,.0f} samples/s)"
        )
        if own is not speeds[0]:
            found = study.compare_speeds(
                dict(enumerate(speeds[0])), dict(enumerate(own))
            )
            lines[-1] += (
                "" if found is None else f"; {found.text} against the first"
            )
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", required=True, help="folder of a mixture")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--model", default="vit5_tiny")
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument(
        "--minutes", type=float, default=0, help="limit; 0 (default): none"
    )
    parser.add_argument("best", type=pathlib.Path)
    flags = parser.parse_args()
    study.check_minutes(parser, flags)
    end = time.monotonic() + 60 * flags.minutes
    best = [json.loads(line) for line in flags.best.read_text().splitlines()]
    flags.output.unlink(missing_ok=True)
    rows = [[] for _ in best]
    for number in range(flags.rounds):
        if number > 0 and flags.minutes and time.monotonic() >= end:
            break
        # Every setting is first, second, third in turn.
        for place in range(len(best)):
            at = (number + place) % len(best)
            rows[at].append(train_once(best[at]["settings"], flags))
    print("\n".join(lines_of(best, rows)))
    if best and len(rows[0]) < flags.rounds:
        print(
            f"  the time was over after {len(rows[0])} of {flags.rounds}"
            " rounds; give it more --minutes"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
