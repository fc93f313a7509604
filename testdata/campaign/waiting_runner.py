#!/usr/bin/env python3
"""Stands in for a runner where only time and rows matter.

Takes --jobs, --output and --resume as micro does, waits for each run of each
job as long as the job's estimate says, and writes its row. What may go wrong is
asked for by variables:

    WAIT_SCALE=S        seconds for each estimated second; 0 does not wait
    WAIT_S=S            seconds for each job, whatever the estimate
    WAIT_FOR=FILE       after its first row it goes on only once FILE is there;
                        until then it has a line in FILE.waiting: who wants to
                        stop it half-way knows when, on any machine
    FAIL_ONCE=FOLDER    the first try at every third job is `failed`; who failed
                        is remembered in FOLDER
"""

import json
import os
import pathlib
import signal
import sys
import time

DONE = ("ok", "early_stopped", "unsupported")


def flags():
    pairs = (a.lstrip("-").partition("=") for a in sys.argv[1:])
    return {name: value for name, _, value in pairs}


def records(path):
    """Whole records of a file; what was torn is cut off, as micro does."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    return [json.loads(line) for line in whole.splitlines()]


def status_of(job):
    folder = os.environ.get("FAIL_ONCE")
    if not folder or int(job["job_id"], 16) % 3:
        return "ok"
    mark = pathlib.Path(folder, job["job_id"])
    if mark.exists():
        return "ok"
    mark.touch()
    return "failed"


def row_of(job, run_index, attempt, elapsed_s):
    status = status_of(job)
    row = {"schema": 1, "record": "row"}
    row.update((k, v) for k, v in job.items() if k not in row)
    for name in ("run_indexes", "cost_s", "output", "record", "schema"):
        row.pop(name, None)
    row.update(record="row", schema=1, dataset={"id": job["dataset"]})
    row.update(run_index=run_index, attempt=attempt, status=status)
    if status == "ok":
        row.update(elapsed_s=elapsed_s, items=job["num_items"])
        row.update(throughput=job["num_items"] / elapsed_s, unit="image")
        row.update(p50_s=elapsed_s / max(1, job["num_items"]))
    else:
        row["reason"] = "asked for by the test"
    row.update(machine_profile="waiting", hardware="cpu")
    return row


def wait_for_leave(jobs):
    gate = os.environ.get("WAIT_FOR")
    if not gate or os.path.exists(gate):
        return
    with open(f"{gate}.waiting", "a") as waiting:
        waiting.write(f"{jobs.stem}\n")
    while not os.path.exists(gate):
        time.sleep(0.02)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    given = flags()
    job_file = pathlib.Path(given["jobs"])
    jobs = records(job_file)
    path = pathlib.Path(given["output"])
    attempts = {}
    done = set()
    for record in records(path):
        if record["record"] != "row":
            continue
        key = record["job_id"], record["run_index"]
        attempts[key] = max(attempts.get(key, 0), record["attempt"] + 1)
        if record["status"] in DONE:
            done.add(key)
    with path.open("ab", buffering=0) as out:
        for job in jobs:
            for run_index in job["run_indexes"]:
                key = job["job_id"], run_index
                if key in done:
                    continue
                started = time.monotonic()
                scale = float(os.environ.get("WAIT_SCALE", "0"))
                seconds = os.environ.get("WAIT_S", job["cost_s"] * scale)
                time.sleep(float(seconds))
                # Equal times would be taken for copies.
                elapsed_s = time.monotonic() - started
                elapsed_s += 1e-6 * (1 + int(job["job_id"], 16) / 2**64)
                row = row_of(job, run_index, attempts.get(key, 0), elapsed_s)
                text = json.dumps(row, separators=(",", ":"))
                out.write(text.encode() + b"\n")
                wait_for_leave(job_file)


main()
