#!/usr/bin/env python3
"""Measures what the harness of micro itself costs.

    dev/bazel.sh build //tools/micro //tools/micro:loop_benchmark \\
        //lib/adapters/opencv:worker_opencv //lib/media:write_synthetic
    tools/micro/bench.py                     # everything
    tools/micro/bench.py --only=loop,start   # some of it

loop    the workers' timing loop, for each call, against a bare pair of clock
        reads, in alternating pairs (bar: 1.2), with Google Benchmark's loops
        and micro's own `null` row beside it
start   seconds from starting micro to its first row and to the first row of a
        library, C++ libraries alone, 20 items, equivalence cached (bar: 1 s)
smoke   161 jobs of the RGB set, 20 items, one run, equivalence cached: share
        of the wall time in import, preflight, warm-up and timed code (bar: 80%)
plain   rows of flip, blur, rotate, equalize and jpeg against a plain script
        that times the same calls, alternating (bar: within 10%)

Ratios are medians over pairs with a 95% bootstrap interval. Use an idle
machine.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

BIN = ROOT / "bazel-bin"
MICRO = BIN / "tools/micro/micro"
RGB = "configs/paper/gcp_c4_rgb_micro_cpu.textproto"
PLAIN = {
    "flip": "HorizontalFlip",
    "blur": "GaussianBlur",
    "rotate": "Rotate",
    "equalize": "Equalize",
    "jpeg": "JpegCompression",
}
GROUPS = {
    "pillow": "pillow",
    "albumentationsx": "albumentationsx",
    "torchvision": "torch_stack",
    "kornia": "torch_stack",
}


def say(name, ratios, bar):
    print(f"{name}: {bench_common.interval_text(ratios, bar)}", flush=True)


def micro(*flags, **options):
    return subprocess.run(
        [MICRO, *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        **options,
    )


def rows(text, library=None):
    found = [json.loads(line) for line in text.splitlines()]
    return [
        r
        for r in found
        if r["record"] == "row" and library in (None, r["library"])
    ]


def loop(flags):
    def seconds(name):
        done = subprocess.run(
            [
                BIN / "tools/micro/loop_benchmark",
                f"--benchmark_filter={name}$",
                "--benchmark_format=json",
                "--benchmark_min_time=0.05",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        result = json.loads(done.stdout)["benchmarks"][0]
        return result.get("per_call_s", result["real_time"] * 1e-9)

    names = ("BM_WorkersLoop", "BM_ClockPair")
    pairs = [[seconds(name) for name in names] for _ in range(flags.pairs)]
    say("loop: workers' loop / clock pair", [a / b for a, b in pairs], 1.2)
    names = ("BM_ClockPair", "BM_WorkersLoop", "BM_UntimedCalls")
    for name in (*names, "BM_BenchmarksLoop"):
        print(f"  {name}: {seconds(name) * 1e9:.1f} ns a call")
    done = micro(
        "--config=configs/demo.textproto",
        "--libraries=opencv",
        "--transforms=Invert",
        "--num_items=1000",
    )
    null = rows(done.stdout, "null")[-1]
    mean_ns = null["elapsed_s"] / null["items"] * 1e9
    print(f"  micro's null row: {mean_ns:.1f} ns a call")


def first_rows():
    """Seconds to the first row, and to the first one of a library."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [
            MICRO,
            "--config=configs/demo.textproto",
            "--libraries=opencv",
            "--num_items=20",
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    first = None
    for line in process.stdout:
        if '"record":"row"' not in line[:40]:
            continue
        first = first or time.perf_counter() - begin
        if '"library":"null"' not in line[:300]:
            break
    library = time.perf_counter() - begin
    process.stdout.read()
    process.wait()
    return first, library


def start(flags):
    first_rows()
    times = [first_rows() for _ in range(flags.pairs)]
    names = ("any row", "a library's row")
    for name, values in zip(names, zip(*times, strict=True), strict=True):
        print(
            f"start: {statistics.median(values):.3f} s to {name}"
            f" (median of {len(values)}, worst {max(values):.3f}); bar 1 s",
            flush=True,
        )


def smoke(flags):
    command = [
        f"--config={RGB}",
        "--dataset=synthetic:rgb",
        "--num_items=20",
        "--num_runs=1",
        "--profile_harness",
        "--output=-",
    ]
    micro(*command)  # Fills the cache of equivalence.
    done = micro(*command)
    account = done.stderr.splitlines()[-1]
    shares = dict(re.findall(r"([a-z-]+) ([\d.]+)%", account))
    measured = sum(
        float(shares[name])
        for name in ("import", "preflight", "warm-up", "timed")
    )
    jobs = {r["job_id"] for r in rows(done.stdout) if r["library"] != "null"}
    print(f"smoke: {len(jobs)} jobs, {measured:.1f}% measured; bar 80%")
    print(f"  {account}")


def plain_script(library, transform, folder):
    """plain_timing.py of the Python workers, which makes a pass when asked."""
    lock = f"configs/requirements/paper/{GROUPS[library]}.lock"
    return bench_common.Asked(
        library,
        [
            f"{bench_common.environment(lock)}/bin/python",
            ROOT / "lib/adapters/python/plain_timing.py",
            f"--library={library}",
            f"--transform={transform}",
            f"--images_folder={folder}",
            "--on_request",
        ],
        env={**os.environ, **bench_common.ONE_THREAD},
    )


def plain(flags):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "images"
        subprocess.run(
            [
                BIN / "lib/media/write_synthetic",
                f"--folder={folder}",
                f"--n={flags.items}",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for library in flags.libraries.split(","):
            for name, transform in PLAIN.items():
                plain_pairs(flags, library, name, transform, folder)


def plain_pairs(flags, library, name, transform, folder):
    script = plain_script(library, name, folder)

    def row_s():
        done = micro(
            "--config=configs/demo.textproto",
            f"--libraries={library}",
            f"--transforms={transform}",
            f"--dataset={folder}",
            f"--num_items={flags.items}",
            "--num_runs=1",
            "--noequivalence",
        )
        row = rows(done.stdout, library)[-1]
        chunk = row["items"] / len(row["samples_s"])
        return statistics.median(row["samples_s"]) / chunk

    def script_s():
        return script.ask()["median_s"]

    script_s()
    ratios = []
    for number in range(flags.pairs):
        sides = {"script": script_s, "row": row_s}
        seen = bench_common.alternate(sides, number)
        ratios.append(seen["row"] / seen["script"])
    script.close()
    say(f"plain: {library} {name}, row / script", ratios, "0.9 to 1.1")


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--only", default="loop,start,smoke,plain")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--libraries", default="pillow,albumentationsx")
    flags = parser.parse_args()
    parts = {"loop": loop, "start": start, "smoke": smoke, "plain": plain}
    for name in flags.only.split(","):
        if name not in parts:
            sys.exit(f"bench.py: no part {name}; there are {', '.join(parts)}")
        parts[name](flags)


if __name__ == "__main__":
    main()
