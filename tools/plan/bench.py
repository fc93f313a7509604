#!/usr/bin/env python3
"""Measures how fast plan is: its start, and a million jobs.

    bazel build //tools/plan && tools/plan/bench.py

Prints, for every checked-in config, the time of `plan` over the time of
`python3 -c pass` (alternating pairs, median of the ratios with a 95% bootstrap
interval; below 1 is the bar), then CPU seconds and peak memory of planning
1,000,000 jobs (bars: 10 s, 200 MB).
"""

import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

LIBRARIES, TRANSFORMS, SWEEP = 100, 1000, 10


def ratio(a, b, pairs, source):
    """Median of time(b) / time(a) over alternating pairs, and its interval."""
    sides = {
        "a": lambda: bench_common.wall_s(a),
        "b": lambda: bench_common.wall_s(b),
    }
    bench_common.take_turns(sides, source)
    seen = [bench_common.take_turns(sides, source) for _ in range(pairs)]
    return bench_common.interval([s["b"] / s["a"] for s in seen], source)


def bench_start(plan, python, pairs):
    rng = random.Random(1)
    worst = 0.0
    configs = sorted(ROOT.glob("configs/paper/*.textproto"))
    configs += sorted(ROOT.glob("configs/native/*.textproto"))
    configs += sorted(ROOT.glob("configs/demo*.textproto"))
    for config in configs:
        middle, low, high = ratio(
            [python, "-c", "pass"], [plan, f"--config={config}"], pairs, rng
        )
        worst = max(worst, high)
        name = config.relative_to(ROOT / "configs")
        print(f"{name}: plan / python3 = {middle:.2f} [{low:.2f}, {high:.2f}]")
    print(f"largest upper end {worst:.2f}, bar 1.00, n={pairs} pairs each")
    return worst < 1


def write_synthetic(folder):
    """A matrix of LIBRARIES x TRANSFORMS cells in the shape of configs/."""
    (folder / "transforms").mkdir()
    (folder / "published").mkdir()
    shutil.copy(ROOT / "configs/policy.textproto", folder)
    published = (ROOT / "configs/published/throughput.csv").read_text()
    (folder / "published/throughput.csv").write_text(
        published.split("\n", 1)[0] + "\n"
    )
    names = [f"library{i}" for i in range(LIBRARIES)]
    quoted = ", ".join(f'"{name}"' for name in names)
    lines = [
        'scenarios { name: "image-rgb" short_name: "rgb" media: "image" '
        'channels: 3 transforms: "rgb.textproto" '
        f"public_libraries: [ {quoted} ] }}"
    ]
    for name in names:
        lines.append(f'libraries {{ name: "{name}" origin: "public" }}')
        lines.append(
            f'combinations {{ scenario: "image-rgb" library: "{name}" '
            'mode: "pipeline" device: "cpu" '
            'scopes: "memory_dataloader_augment" status: SUPPORTED }'
        )
    # The policy speaks of libraries of the real matrix.
    for name in (
        "albumentationsx",
        "torchvision",
        "kornia",
        "pillow",
        "dali",
        "opencv",
        "torch",
        "pyav",
        "decord",
        "torchcodec",
    ):
        lines.append(f'libraries {{ name: "{name}" origin: "public" }}')
    for scenario in ("image-9ch", "video-16f", "video-decode-16f"):
        media = "clip" if scenario.startswith("video") else "image"
        frames = 16 if media == "clip" else 0
        lines.append(
            f'scenarios {{ name: "{scenario}" short_name: "{scenario}" '
            f'media: "{media}" channels: 3 clip_length: {frames} '
            'public_libraries: "library0" }'
        )
    (folder / "matrix.textproto").write_text("\n".join(lines) + "\n")
    with open(folder / "transforms/rgb.textproto", "w") as out:
        out.write('scenario: "image-rgb"\n')
        for i in range(TRANSFORMS):
            out.write(f'transforms {{ name: "Transform{i}"\n')
            for name in names:
                out.write(
                    f' implementations {{ library: "{name}" native_op: "Op" '
                    f'params: "p={i}" }}\n'
                )
            out.write("}\n")
    values = ", ".join(f'"{i}"' for i in range(SWEEP))
    (folder / "run.textproto").write_text(
        'version: 1 selection { scenario: "image-rgb" mode: "pipeline" } '
        "execution { num_runs: 1 batch_size: 256 "
        'scope: "memory_dataloader_augment" } '
        f'sweep {{ name: "workers" values: [ {values} ] }}\n'
    )


def bench_million(plan):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_synthetic(folder)
        with open(folder / "jobs.jsonl", "wb") as out:
            _, use = bench_common.resources(
                [plan, f"--config={folder}/run.textproto"], stdout=out
            )
        size = (folder / "jobs.jsonl").stat().st_size
        with open(folder / "jobs.jsonl", "rb") as jobs:
            count = sum(1 for _ in jobs)
    cpu = use.ru_utime + use.ru_stime
    peak = use.ru_maxrss / 1024
    print(
        f"{count} jobs, {size / 1e6:.0f} MB: {cpu:.2f} s CPU (bar 10), "
        f"{peak:.0f} MB peak (bar 200), {cpu / count * 1e6:.2f} us a job"
    )
    return count == LIBRARIES * TRANSFORMS * SWEEP and cpu < 10 and peak < 200


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--plan", default=ROOT / "bazel-bin/tools/plan/plan")
    parser.add_argument(
        "--python",
        default="/usr/bin/python3",
        help="the real interpreter: wrapper scripts in front of it take longer",
    )
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--only", choices=["start", "million"])
    args = parser.parse_args()
    good = True
    if args.only != "million":
        good &= bench_start(str(args.plan), args.python, args.pairs)
    if args.only != "start":
        good &= bench_million(str(args.plan))
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
