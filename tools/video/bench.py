#!/usr/bin/env python3
"""How our decoder of clips does beside Python's and beside FFmpeg itself.

    make envs GROUPS=torch_video
    dev/bazel.sh build //tools/video
    tools/video/bench.py                       # all four: some 15 minutes
    tools/video/bench.py --containers=avi --rules=uniform --runs=20

For MPEG-4 in AVI and H.264 in MP4, clips of 16 frames spread over the file
(uniform) and in a row (consecutive), one thread: the decoders take turns in one
run of `video`, one run index each, in an order that the seed shuffles. Ratios
are medians over run indexes with a 95% bootstrap interval. Bars: no slower than
the best Python decoder (lower end of the interval at least 0.95; the aim is
1.15), and 0.9 of the limit, which is straight libav that knows everything
beforehand. Exit 3 where one is missed. Wants an idle machine.
"""

import argparse
import collections
import json
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VIDEO = ROOT / "bazel-bin/tools/video/video"
OURS = "ffmpeg"
NO_SLOWER, AIM, OF_LIMIT = 0.95, 1.15, 0.9


def interval(values, seed=1):
    """Median with a 95% bootstrap interval."""
    source = random.Random(seed)
    medians = sorted(
        statistics.median(source.choices(values, k=len(values)))
        for _ in range(2000)
    )
    return statistics.median(values), medians[50], medians[1949]


def rows_of(container, rule, flags):
    command = [
        str(VIDEO),
        "--config=configs/native/video_decode.textproto",
        f"--libraries={flags.libraries}",
        f"--num_runs={flags.runs}",
        f"--num_items={flags.items}",
        f"--dataset=synthetic:video,n={flags.items},seed=1,"
        f"container={container}",
        f"--sweep=clip_rule={rule}",
        "--skip_missing",
    ]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        r for r in records if r["record"] == "row" and r["library"] != "null"
    ]


def last_attempts(rows):
    """{library: {run_index: row}} of the rows that are ok."""
    by_library = collections.defaultdict(dict)
    for row in sorted(rows, key=lambda r: r["attempt"]):
        if row["status"] == "ok":
            by_library[row["library"]][row["run_index"]] = row
    return by_library


def say(name, values, bar):
    middle, low, high = interval(values)
    verdict = "ok" if low >= bar else "BELOW"
    print(
        f"  {name}: {middle:.3f} [{low:.3f}, {high:.3f}] over {len(values)}"
        f" pairs; bar {bar}: {verdict}",
        flush=True,
    )
    return low >= bar


def report(container, rule, rows):
    print(f"{container} {rule}")
    by_library = last_attempts(rows)
    for library, runs in sorted(by_library.items()):
        row = runs[min(runs)]
        speed = statistics.median(r["throughput"] for r in runs.values())
        print(
            f"  {library} {row['library_version']}: {speed:.1f} clips/s,"
            f" {row['equivalence']['label']}"
        )
    ours = by_library.pop(OURS)
    good = say(
        "share of straight libav",
        [row["of_limit"] for row in ours.values()],
        OF_LIMIT,
    )
    for library, theirs in sorted(by_library.items()):
        pairs = sorted(set(ours) & set(theirs))
        ratios = [
            ours[i]["throughput"] / theirs[i]["throughput"] for i in pairs
        ]
        good &= say(f"{OURS} over {library} (aim {AIM})", ratios, NO_SLOWER)
    return good


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--containers", default="avi,mp4")
    parser.add_argument("--rules", default="uniform,consecutive")
    parser.add_argument(
        "--libraries", default="ffmpeg,opencv,pyav,torchcodec,decord"
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--items", type=int, default=50)
    flags = parser.parse_args()
    good = True
    for container in flags.containers.split(","):
        for rule in flags.rules.split(","):
            rows = rows_of(container, rule, flags)
            good &= report(container, rule, rows)
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
