#!/usr/bin/env python3
"""exactly_once.py JOBS ROWS: every run of every job has one row that counts.

It is the last attempt and it is done. Those before it were not done, or noisy:
a runner repeats those. No attempt is there twice, and none is missing. Says how
many runs there are; exit 1 and what is wrong otherwise.
"""

import collections
import json
import pathlib
import sys

DONE = ("ok", "early_stopped", "unsupported")


def main():
    jobs, rows = map(pathlib.Path, sys.argv[1:])
    owed = set()
    for line in jobs.read_text().splitlines():
        job = json.loads(line)
        owed |= {(job["job_id"], run) for run in job["run_indexes"]}
    files = sorted(rows.glob("*.jsonl")) if rows.is_dir() else [rows]
    found = collections.defaultdict(list)
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError:
                sys.exit(f"{file}:{number}: torn: {line[:60]}")
            if record["record"] == "row" and record["library"] != "null":
                key = record["job_id"], record["run_index"]
                repeatable = "noisy" in record.get("warnings", ())
                repeatable |= record["status"] not in DONE
                found[key].append(
                    (record["attempt"], record["status"], repeatable)
                )
    problems = [f"{key}: no row" for key in owed - found.keys()]
    problems += [f"{key}: not asked for" for key in found.keys() - owed]
    for key, attempts in found.items():
        attempts.sort()
        numbers = [number for number, _, _ in attempts]
        good = numbers == list(range(len(numbers)))
        good &= attempts[-1][1] in DONE
        good &= all(repeatable for _, _, repeatable in attempts[:-1])
        if not good:
            problems.append(f"{key}: {attempts}")
    if problems:
        sys.exit("\n".join(sorted(problems)[:20]))
    print(len(owed))


main()
