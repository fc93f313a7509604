#!/usr/bin/env python3
"""Compares the speed of aggregate with DuckDB and polars on the same rows.

    bazel build //tools/aggregate && tools/aggregate/bench.py

Writes 1,000,000 rows of about 300 bytes, then times, in alternating pairs,
`aggregate` (the whole process: start, reading, printing) and only the query in
DuckDB or polars, which are already running and know the columns and their
types: count, median, mean and deviation of `throughput` by four fields. Prints
the median of the ratios with a 95% bootstrap interval (bar: 2), after checking
that all three give the same numbers. `--rows=10000000 --only=memory` prints
seconds and peak memory of one large run. `--quiet` waits until nothing else
runs.
"""

import csv
import io
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

BY = ["library", "transform", "device", "batch_size"]
LIBRARIES = ["albumentationsx", "torchvision", "kornia", "pillow", "opencv"]
TRANSFORMS = [f"Transform{i}" for i in range(50)]
PAIR = """
import json, sys, time
which, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
BY = ["library", "transform", "device", "batch_size"]
if which == "duckdb":
    import duckdb
    db = duckdb.connect()
    db.execute("set enable_progress_bar = false")
    db.execute(f"set threads = {threads}")
    query = f'''select {", ".join(BY)}, count(*), median(throughput),
        avg(throughput), stddev_samp(throughput)
        from read_json('{path}', format = 'newline_delimited', columns = {{
            library: 'VARCHAR', transform: 'VARCHAR', device: 'VARCHAR',
            batch_size: 'INTEGER', status: 'VARCHAR', throughput: 'DOUBLE'}})
        where status = 'ok' group by all'''
    run = lambda: db.execute(query).fetchall()
else:
    import polars as pl
    schema = {"library": pl.String, "transform": pl.String, "device": pl.String,
              "batch_size": pl.Int32, "status": pl.String,
              "throughput": pl.Float64}
    x = pl.col("throughput")
    lazy = (pl.scan_ndjson(path, schema=schema)
            .filter(pl.col("status") == "ok").group_by(BY)
            .agg(pl.len(), x.median(), x.mean().alias("m"),
                 x.std().alias("s")))
    run = lambda: lazy.collect().rows()
for line in sys.stdin:
    start = time.perf_counter()
    rows = run()
    took = time.perf_counter() - start
    print(json.dumps([took, rows if line.strip() == "rows" else len(rows)]),
          flush=True)
"""


# How a row is printed: as our own writer does, or as others do.
FORMS = {
    "printed": lambda line, rng: line,
    "spaces": lambda line, rng: json.dumps(json.loads(line)) + "\n",
    "sorted": lambda line, rng: (
        json.dumps(json.loads(line), sort_keys=True) + "\n"
    ),
    "any_order": lambda line, rng: in_any_order(json.loads(line), rng),
    "escapes": lambda line, rng: line.replace(
        '"unit":"image"', '"unit":"image","note":"\\"\\u00b5\\""'
    ),
    "utf8": lambda line, rng: line.replace(
        '"unit":"image"', '"unit":"image","note":"µ"'
    ),
}


def in_any_order(row, rng):
    keys = list(row)
    rng.shuffle(keys)
    return json.dumps({key: row[key] for key in keys}) + "\n"


def write_rows(path, count, shuffled=False, form="printed"):
    """Rows as a runner prints them, run by run; or jobs and ids at random."""
    reprint = FORMS[form]
    rng = random.Random(1)
    jobs = []
    for library in LIBRARIES:
        for transform in TRANSFORMS:
            for device in ("cpu", "cuda"):
                for batch_size in (0, 256):
                    jobs.append(
                        (
                            library,
                            transform,
                            device,
                            batch_size,
                            rng.lognormvariate(6, 1),
                        )
                    )
    with open(path, "w", buffering=1 << 20) as out:
        for i in range(count):
            number, run = i % len(jobs), i // len(jobs)
            if shuffled:
                number, run = rng.randrange(len(jobs)), 0
            library, transform, device, batch_size, speed = jobs[number]
            if shuffled:
                number = i
            throughput = speed * rng.lognormvariate(0, 0.05)
            line = (
                f'{{"schema":1,"record":"row","job_id":"{number:016x}",'
                f'"mode":"micro","library":"{library}",'
                f'"transform":"{transform}","device":"{device}",'
                f'"batch_size":{batch_size},'
                f'"params_profile":"paper","run_index":{run},"attempt":0,'
                f'"status":"ok","unit":"image",'
                f'"throughput":{throughput!r},'
                '"machine_profile":"xeon-8481c_16c_x86-64"}\n'
            )
            out.write(reprint(line, rng))
    return os.path.getsize(path)


def aggregate_command(program, path, threads):
    return [
        program,
        "--by=" + ",".join(BY),
        "--format=csv",
        f"--threads={threads}",
        str(path),
    ]


def wait_until_quiet(limit_s=3600):
    """Until the load of the last minute is below 0.3, or for an hour."""
    deadline = time.monotonic() + limit_s
    while os.getloadavg()[0] >= 0.3 and time.monotonic() < deadline:
        time.sleep(5)
    print(f"load before: {os.getloadavg()[0]:.2f}", flush=True)


def same_numbers(ours, theirs):
    """Whether a CSV of ours holds the rows of a rival, to 9 digits."""
    table = {}
    for row in csv.DictReader(io.StringIO(ours)):
        key = (
            row["library"],
            row["transform"],
            row["device"],
            int(row["batch_size"]),
        )
        table[key] = (
            int(row["runs"]),
            float(row["median"]),
            float(row["mean"]),
            float(row["sd"]),
        )
    if len(table) != len(theirs):
        return False
    for row in theirs:
        for one, other in zip(table[tuple(row[:4])], row[4:], strict=True):
            if abs(one - other) > 1e-9 * abs(other):
                return False
    return True


def bench(args, path, python):
    source = random.Random(2)
    command = aggregate_command(args.aggregate, path, args.threads)
    ours = subprocess.run(command, capture_output=True, text=True, check=True)
    good = True
    for which in ("duckdb", "polars"):
        rival = bench_common.Asked(
            which,
            [python, "-c", PAIR, which, str(path), str(args.threads)],
            env=dict(os.environ, POLARS_MAX_THREADS=str(args.threads)),
        )
        if not same_numbers(ours.stdout, rival.ask("rows")[1]):
            sys.exit(f"{which} gives other numbers")
        sides = {
            "own": lambda: bench_common.wall_s(command),
            "other": lambda rival=rival: rival.ask("time")[0],
        }
        bench_common.take_turns(sides, source)
        pairs = [
            bench_common.take_turns(sides, source) for _ in range(args.pairs)
        ]
        rival.close()
        own, other = ([pair[side] for pair in pairs] for side in sides)
        middle, low, high = bench_common.interval(
            bench_common.ratios(other, own), source
        )
        good &= low >= 2
        print(
            f"{which} / aggregate = {middle:.2f} "
            f"[{low:.2f}, {high:.2f}], bar 2, n={args.pairs} "
            f"pairs; medians {statistics.median(other):.3f} s and "
            f"{statistics.median(own):.3f} s"
        )
    return good


def memory(args, path):
    command = aggregate_command(args.aggregate, path, args.threads)
    took, use = bench_common.resources(command, stdout=subprocess.DEVNULL)
    peak = use.ru_maxrss * 1024
    print(
        f"{args.rows} rows: {took:.2f} s, {use.ru_utime + use.ru_stime:.2f} s "
        f"CPU, {peak / 1e6:.0f} MB peak, {peak / args.rows:.1f} bytes per row"
    )


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument(
        "--aggregate", default=ROOT / "bazel-bin/tools/aggregate/aggregate"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["speed", "memory"])
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument(
        "--shuffled",
        action="store_true",
        help="no two rows of one job and no order: nothing to foresee",
    )
    parser.add_argument(
        "--form", choices=FORMS, default="printed", help="how rows are printed"
    )
    args = parser.parse_args()
    args.aggregate = str(args.aggregate)
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "rows.jsonl"
        size = write_rows(path, args.rows, args.shuffled, args.form)
        if args.quiet:
            wait_until_quiet()
        print(
            f"{args.rows} rows, {size / 1e6:.0f} MB, {args.threads} threads, "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        good = True
        if args.only != "memory":
            env = bench_common.environment("dev/locks/bench_aggregate.lock")
            good = bench(args, path, env + "/bin/python")
        if args.only != "speed":
            memory(args, path)
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
