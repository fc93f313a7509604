#!/usr/bin/env python3
"""The recount on batches with known numbers, and on rows that differ."""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

import recount

KEYS = {"job_id": "j", "run_index": 0, "run_id": "r"}


def batch(index, counts, time_s, wait_s, **more):
    return {
        "schema": 1,
        "record": "batch",
        **KEYS,
        "batch_index": index,
        "time_s": time_s,
        "wait_s": wait_s,
        "items": sum(counts.values()),
        "counts": [{"dataset": n, "samples": c} for n, c in counts.items()],
        "dominant": max(counts, key=counts.get),
        "first_seen": [],
        "warmup": False,
    } | more


BATCHES = [
    batch(0, {"a": 4}, 1.0, 1.0, first_seen=["a"], warmup=True),
    batch(1, {"a": 3, "b": 1}, 1.5, 0.1, first_seen=["b"]),
    batch(2, {"b": 4}, 2.0, 0.2),
    batch(3, {"a": 2, "b": 2}, 2.5, 0.1),
    batch(4, {"a": 4}, 4.0, 0.8),
]
ROW = {
    "schema": 1,
    "record": "row",
    **KEYS,
    "items": 16,
    "mixture": {
        "batches": 4,
        "warmup_batches": 1,
        "batches_per_s": 4 / 3,
        "samples_per_s": 16 / 3,
        "batch_p50_s": 0.5,
        "batch_p90_s": 1.2,
        "batch_p99_s": 1.47,
        # a has 9 of 16 samples and should have 3 of 4.
        "mixture_error": 3 / 16,
        # a b a a.
        "dominant_switch_rate": 2 / 3,
        "unique_dominant": 2,
        "shares": [
            {
                "dataset": "a",
                "weight_share": 0.75,
                "samples": 9,
                "stall_s": 1.0,
            },
            {
                "dataset": "b",
                "weight_share": 0.25,
                "samples": 7,
                "stall_s": 0.2,
            },
        ],
    },
}


class RecountTest(unittest.TestCase):
    def test_a_right_row_agrees(self):
        self.assertEqual(recount.differences(ROW, BATCHES), [])

    def test_every_number_is_held_against_the_batches(self):
        for name in ROW["mixture"]:
            if name == "shares":
                continue
            row = copy.deepcopy(ROW)
            row["mixture"][name] += 0.001
            found = recount.differences(row, BATCHES)
            self.assertEqual(len(found), 1, name)
            self.assertIn(name, found[0])
        for name in ("samples", "stall_s"):
            row = copy.deepcopy(ROW)
            row["mixture"]["shares"][1][name] += 1
            (found,) = recount.differences(row, BATCHES)
            self.assertIn(f"{name} of b", found)

    def test_ties_go_to_the_earlier_of_the_mixture(self):
        batches = copy.deepcopy(BATCHES)
        batches[3]["dominant"] = "b"
        (found,) = recount.differences(ROW, batches)
        self.assertIn("batch 3: b does not dominate", found)

    def test_batches_that_cannot_be(self):
        for name, value, words in (
            ("items", 5, "add up"),
            ("first_seen", [], "first_seen"),
        ):
            batches = copy.deepcopy(BATCHES)
            batches[1][name] = value
            self.assertIn(words, recount.differences(ROW, batches)[0])
        batches = [*BATCHES, batch(5, {"c": 4}, 5.0, 0.1)]
        self.assertIn("batches have c", recount.differences(ROW, batches)[0])


class ProgramTest(unittest.TestCase):
    def run_on(self, records):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.jsonl")
            with open(path, "w") as file:
                for record in records:
                    file.write(json.dumps(record) + "\n")
            return subprocess.run(
                [sys.executable, recount.__file__, path],
                capture_output=True,
                text=True,
            )

    def test_exit_codes(self):
        done = self.run_on([ROW, *BATCHES])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("agrees: 5 batches, mixture error 0.1875", done.stdout)
        row = copy.deepcopy(ROW)
        row["mixture"]["unique_dominant"] = 3
        done = self.run_on([row, *BATCHES])
        self.assertEqual(done.returncode, 3)
        self.assertIn("the row says 3, the batches 2", done.stdout)
        self.assertIn("0 of 1 rows agree", done.stdout)
        self.assertEqual(self.run_on([ROW]).returncode, 5)
        self.assertEqual(self.run_on(BATCHES).returncode, 5)

    def test_of_two_attempts_the_last_counts(self):
        wrong = [batch(1, {"b": 4}, 1.5, 9.0), *BATCHES]
        self.assertEqual(self.run_on([ROW, *wrong]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
