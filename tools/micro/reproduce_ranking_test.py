#!/usr/bin/env python3
"""Ranks, ratios and their correlation, on numbers that are known."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, "tools/micro")
import reproduce_ranking as ranking  # noqa: E402


class ReproduceRankingTest(unittest.TestCase):
    def test_equal_values_share_their_rank(self):
        self.assertEqual(ranking.ranks([3, 1, 1, 5]), [3, 1.5, 1.5, 4])

    def test_correlation_of_known_ranks(self):
        self.assertAlmostEqual(ranking.spearman([1, 2, 3], [10, 20, 90]), 1)
        self.assertAlmostEqual(ranking.spearman([1, 2, 3], [9, 8, 7]), -1)
        # 1 - 6 * sum(d^2) / (n (n^2 - 1)) with d = 0, 1, 1, 0.
        self.assertAlmostEqual(
            ranking.spearman([1, 2, 3, 4], [1, 3, 2, 4]), 1 - 6 * 2 / 60
        )

    def test_the_last_attempt_of_each_run_counts(self):
        rows = [("a", 0, 10.0), ("a", 0, 30.0), ("a", 1, 50.0), ("b", 0, 0.0)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.jsonl"
            path.write_text(
                "".join(
                    json.dumps(
                        {
                            "record": "row",
                            "job_id": job,
                            "run_index": run,
                            "transform": "Resize",
                            "library": job,
                            "throughput": speed,
                        }
                    )
                    + "\n"
                    for job, run, speed in rows
                )
            )
            self.assertEqual(ranking.measured(path), {("Resize", "a"): 40.0})

    def test_published_numbers_are_of_one_machine(self):
        there = ranking.published()
        self.assertGreater(len(there), 140)
        self.assertIn(("Resize", "pillow"), there)

    def test_numbers_against_themselves_agree(self):
        flags = types.SimpleNamespace(bar=0.9, outliers=3)
        there = ranking.published()
        twice = {cell: 2 * speed for cell, speed in there.items()}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertAlmostEqual(ranking.report(twice, there, flags), 1)
        self.assertIn("rank correlation 1.000", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
