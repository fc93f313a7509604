#!/usr/bin/env python3
"""Compares our decoder of clips with Python's and with FFmpeg itself.

    make envs GROUPS=torch_video
    dev/bazel.sh build //tools/video
    tools/video/bench.py                       # all four: some 15 minutes
    tools/video/bench.py --containers=avi --rules=uniform --runs=20

For MPEG-4 in AVI and H.264 in MP4, clips of 16 frames spread over the file
(uniform) and in a row (consecutive), one thread: the decoders alternate in one
run of `video`, one run index each, in an order that the seed shuffles. Ratios
are medians over run indexes with a 95% bootstrap interval. Bars: no slower than
the best Python decoder (lower end of the interval at least 0.95; the aim is
1.15), and 0.9 of the limit, which is the faster of our own reader and straight
libav that knows everything beforehand.

Then the loaders, from files to batches, two workers each: ours over torch's
DataLoader with TorchCodec and with PyAV on the same recipe (bar: 1.3).

Exits with 3 if a bar is missed. Use an idle machine.
"""

import collections
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

VIDEO = ROOT / "bazel-bin/tools/video/video"
OURS = "ffmpeg"
NO_SLOWER, AIM, OF_LIMIT, LOADER = 0.95, 1.15, 0.9, 1.3


def rows_of(config, container, sweep, libraries, flags):
    command = [
        str(VIDEO),
        f"--config=configs/native/{config}.textproto",
        f"--libraries={libraries}",
        f"--num_runs={flags.runs}",
        f"--num_items={flags.items}",
        f"--dataset=synthetic:video,n={flags.items},seed=1,"
        f"container={container}",
        f"--sweep={sweep}",
    ]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(
            f"bench.py: video ended with {done.returncode}; ours alone:"
            f" --libraries={OURS} --decoders="
        )
    return bench_common.rows_of(done.stdout)


def last_attempts(rows, libraries):
    """{library: {run_index: row}} of the rows that are ok. Exits where a
    library has none."""
    by_library = collections.defaultdict(dict)
    for row in sorted(rows, key=lambda r: r["attempt"]):
        if row["status"] == "ok":
            by_library[row["library"]][row["run_index"]] = row
    missing = [one for one in libraries.split(",") if one not in by_library]
    if missing:
        sys.exit(f"bench.py: no run of {', '.join(missing)} is ok")
    return by_library


def say(name, values, bar):
    good = bench_common.interval(values)[1] >= bar
    verdict = "ok" if good else "BELOW"
    text = bench_common.interval_text(values, bar)
    print(f"  {name}: {text}: {verdict}", flush=True)
    return good


def speed_ratios(ours, theirs):
    """Ratios for the run indexes that both have."""
    return [
        ours[i]["throughput"] / theirs[i]["throughput"]
        for i in sorted(set(ours) & set(theirs))
    ]


def report(container, rule, rows, libraries):
    print(f"{container} {rule}")
    by_library = last_attempts(rows, libraries)
    for library, runs in sorted(by_library.items()):
        row = runs[min(runs)]
        speed = statistics.median(r["throughput"] for r in runs.values())
        print(
            f"  {library} {row['library_version']}: {speed:.1f} clips/s,"
            f" {row['equivalence']['label']}"
        )
    ours = by_library.pop(OURS)
    good = say(
        "share of the limit",
        [row["of_limit"] for row in ours.values()],
        OF_LIMIT,
    )
    for library, theirs in sorted(by_library.items()):
        ratios = speed_ratios(ours, theirs)
        good &= say(f"{OURS} over {library} (aim {AIM})", ratios, NO_SLOWER)
    return good


def compare_loaders(container, decoder, flags):
    rows = rows_of(
        "video_pipeline_cpu",
        container,
        f"decoder={decoder}",
        f"{OURS},torchvision",
        flags,
    )
    by_library = last_attempts(rows, f"{OURS},torchvision")
    ratios = speed_ratios(by_library[OURS], by_library["torchvision"])
    print(f"{container} loader, two workers")
    return say(f"{OURS} over DataLoader with {decoder}", ratios, LOADER)


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--containers", default="avi,mp4")
    parser.add_argument("--rules", default="uniform,consecutive")
    parser.add_argument(
        "--libraries", default="ffmpeg,opencv,pyav,torchcodec,decord"
    )
    parser.add_argument(
        "--decoders",
        default="torchcodec,pyav",
        help="of torch's DataLoader; empty leaves the loaders out",
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--items", type=int, default=50)
    flags = parser.parse_args()
    if not VIDEO.exists():
        sys.exit(
            "bench.py: tools/video is not built; run: dev/bazel.sh build"
            " //tools/video"
        )
    if OURS not in flags.libraries.split(","):
        sys.exit(f"bench.py: --libraries must contain {OURS}")
    good = True
    for container in flags.containers.split(","):
        for rule in filter(None, flags.rules.split(",")):
            rows = rows_of(
                "video_decode",
                container,
                f"clip_rule={rule}",
                flags.libraries,
                flags,
            )
            good &= report(container, rule, rows, flags.libraries)
        for decoder in filter(None, flags.decoders.split(",")):
            good &= compare_loaders(container, decoder, flags)
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
