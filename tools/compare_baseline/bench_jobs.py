#!/usr/bin/env python3
"""Measures how long compare_baseline takes for many jobs, and how much memory.

    bazel build //tools/compare_baseline && tools/compare_baseline/bench_jobs.py

Writes --jobs rows (100,000) and a baseline of as many, of which a tenth are
other jobs, and compares them. Prints seconds of the processor and peak memory
for a tenth of the jobs and for all. Exits with 3 if all take more than 5 s or
1 GB, or if they take more than 20 times as long as the tenth.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_rows(path, jobs, first, run_id):
    with path.open("w") as out:
        for job in range(first, first + jobs):
            row = {
                "schema": 1,
                "record": "row",
                "job_id": f"{job:016x}",
                "run_id": run_id,
                "mode": "micro",
                "library": "opencv",
                "transform": f"T{job % 50}",
                "num_items": job,
                "status": "ok",
                "throughput": 1000 + job % 7,
                "p50_s": 0.001,
                "samples_s": [0.001, 0.0011, 0.0009],
                "machine_profile": "m",
            }
            out.write(json.dumps(row) + "\n")


def compare(program, folder, jobs):
    """Seconds of CPU time, and the peak memory of all runs so far in bytes."""
    write_rows(folder / "m.rows.jsonl", jobs, jobs // 10, "old")
    write_rows(folder / "rows.jsonl", jobs, 0, "new")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [
            program,
            f"--current={folder / 'rows.jsonl'}",
            f"--baselines={folder}",
            f"--configs={ROOT / 'configs'}",
            f"--output={folder / 'verdicts.jsonl'}",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}: {done.stderr}")
    seconds = after.ru_utime + after.ru_stime
    seconds -= before.ru_utime + before.ru_stime
    return seconds, after.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--jobs", type=int, default=100000)
    parser.add_argument(
        "--program",
        default=ROOT / "bazel-bin/tools/compare_baseline/compare_baseline",
    )
    args = parser.parse_args()
    took = []
    with tempfile.TemporaryDirectory() as name:
        for jobs in (args.jobs // 10, args.jobs):
            seconds, peak = compare(args.program, pathlib.Path(name), jobs)
            took.append(seconds)
            print(f"{jobs} jobs: {seconds:.2f} s, {peak / 1e9:.2f} GB")
    good = took[1] <= 5 and peak <= 1e9 and took[1] <= 20 * took[0]
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
