#!/usr/bin/env python3
"""Random faults, one after the other: every job is accounted for.

FEEDRATE_FAULTS says how many (60; with FEEDRATE_FULL=1 it is 1,000), and
FEEDRATE_SEED which.
"""

import collections
import os
import random
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

# What becomes of a job in which this happens at some call.
EXPECTED = {
    "ok": "ok",
    "noop": "ok",
    "slow": "ok",
    "exception": "failed",
    "out_of_memory": "oom",
    "cuda_memory": "oom",
    "torch_memory": "oom",
    "segfault": "crashed",
    "abort": "crashed",
    "exit": "crashed",
    "die_silently": "crashed",
    "hang": "timeout",
    "spin": "timeout",
    "stop": "timeout",
    "allocate": "oom",
    "garbage": "failed",
    "half_line": "crashed",
    "extra_reply": "failed",
    "wrong_reply": "failed",
    "endless_line": "failed",
    "close_pipe": "failed",
    "flood_stderr": "crashed",
    "kill_server": "failed",
}
SETTINGS = {"slow": {"seconds": 0.0005}, "exit": {"code": 3}}
HARMLESS = ("ok", "noop", "slow")


def count():
    full = os.environ.get("FEEDRATE_FULL") == "1"
    return int(os.environ.get("FEEDRATE_FAULTS", 1000 if full else 60))


def random_job(source, number):
    fault = source.choice(list(EXPECTED))
    when = source.choice(["call", "call", "call", "prepare", "output"])
    settings = dict(SETTINGS.get(fault, {}))
    if fault not in HARMLESS:
        # Preflight, warm-up or the timed part; at least some of each.
        at = source.choice([0, source.randrange(8), source.randrange(8, 130)])
        settings |= {"when": when, "at": at if when == "call" else 0}
    job = harness.job(fault, run_indexes=range(source.choice([1, 1, 2])))
    job["settings"] = {k: str(v) for k, v in settings.items()}
    job["job_id"] = f"{number:016x}"
    job["seed"] = number
    return job


class FaultsTest(unittest.TestCase):
    def test_every_job_is_accounted_for(self):
        seed = int(os.environ.get("FEEDRATE_SEED", "1"))
        source = random.Random(seed)
        jobs = [random_job(source, number) for number in range(count())]
        # Long enough that nothing but a hang takes it on a slow machine that
        # is busy besides.
        run = harness.micro(
            jobs, "--timeout=3", "--memory-limit=64M", timeout=5000
        )
        self.assertEqual(run.code, 0, run.stderr[-2000:])
        rows = collections.defaultdict(list)
        for row in run.rows:
            rows[row["job_id"], row["run_index"]].append(row)
        seen = collections.Counter()
        for job in jobs:
            for run_index in job["run_indexes"]:
                attempts = rows.pop((job["job_id"], run_index), [])
                self.assertTrue(attempts, f"no row for {job}")
                numbers = [row["attempt"] for row in attempts]
                self.assertEqual(numbers, list(range(len(attempts))))
                self.check(job, attempts[-1])
                seen[job["transform"], attempts[-1]["status"]] += 1
        self.assertEqual(dict(rows), {}, "rows that nobody asked for")
        self.assertEqual(harness.workers_left(), [])
        for (fault, status), number in sorted(seen.items()):
            print(f"{fault:14} {status:14} {number}")

    def check(self, job, row):
        wanted = EXPECTED[job["transform"]]
        self.assertEqual(row["status"], wanted, (job, row["reason"]))
        if wanted != "ok":
            self.assertNotEqual(row["reason"], "")
        if job["transform"] in ("segfault", "abort"):
            self.assertIn("killed by SIG", row["reason"])


if __name__ == "__main__":
    unittest.main()
