#!/usr/bin/env python3
"""What `dev/bench.sh aggregate` duels: one query by each of three programs.

    bench_peers.py rows FILE [COUNT]                writes rows of 1,000 groups
    bench_peers.py aggregate|duckdb|polars FILE     prints one row: its time

`aggregate` is timed from start to exit. DuckDB and polars are told the columns
and their types, run the query once before, and are timed for the query alone.
"""

import json
import random
import subprocess
import sys
import time

AGGREGATE = "bazel-bin/tools/aggregate/aggregate"
TEXTS = ["library", "transform", "device"]
BY = [*TEXTS, "batch_size"]


def write_rows(path, count=1_000_000):
    source = random.Random(1)
    with open(path, "w") as out:
        for i in range(int(count)):
            job, run = i % 1000, i // 1000
            speed = (1 + job) * source.lognormvariate(0, 0.05)
            out.write(
                f'{{"schema":1,"record":"row","job_id":"{job:016x}",'
                f'"mode":"micro","library":"library{job % 5}",'
                f'"transform":"Transform{job // 5 % 50}",'
                f'"device":"{"cuda" if job >= 500 else "cpu"}",'
                f'"batch_size":{256 * (job // 250 % 2)},'
                f'"params_profile":"paper","run_index":{run},"attempt":0,'
                f'"status":"ok","unit":"image","throughput":{speed!r},'
                '"machine_profile":"xeon-8481c_16c_x86-64"}\n'
            )


def aggregate(path):
    by = f"--by={','.join(BY)}"
    command = [AGGREGATE, by, "--format=csv", path]
    return lambda: subprocess.run(
        command, stdout=subprocess.DEVNULL, check=True
    )


def duckdb(path):
    import duckdb

    columns = ", ".join(f"{name}: 'VARCHAR'" for name in [*TEXTS, "status"])
    query = f"""select {", ".join(BY)}, count(*), median(throughput),
        avg(throughput), stddev_samp(throughput)
        from read_json('{path}', format = 'newline_delimited', columns =
            {{{columns}, batch_size: 'INTEGER', throughput: 'DOUBLE'}})
        where status = 'ok' group by all"""
    return lambda: duckdb.execute(query).fetchall()


def polars(path):
    import polars as pl

    schema = {name: pl.String for name in [*TEXTS, "status"]}
    schema |= {"batch_size": pl.Int32, "throughput": pl.Float64}
    x = pl.col("throughput")
    lazy = (
        pl.scan_ndjson(path, schema=schema)
        .filter(pl.col("status") == "ok")
        .group_by(BY)
        .agg(pl.len(), x.median(), x.mean().alias("m"), x.std().alias("s"))
    )
    return lambda: lazy.collect().rows()


def main():
    what, path, *more = sys.argv[1:]
    if what == "rows":
        write_rows(path, *more)
        return
    query = {"aggregate": aggregate, "duckdb": duckdb, "polars": polars}[what](
        path
    )
    query()
    start = time.perf_counter()
    query()
    took = time.perf_counter() - start
    row = {"schema": 1, "record": "row", "job_id": "0" * 16, "status": "ok"}
    row |= {"mode": "micro", "transform": "query", "unit": "query", "items": 1}
    row |= {"elapsed_s": took, "samples_s": [took], "throughput": 1 / took}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
