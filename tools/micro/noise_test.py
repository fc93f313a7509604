#!/usr/bin/env python3
"""micro on a machine that others use, and what it says about it at its end."""

import contextlib
import os
import pathlib
import pty
import subprocess
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402
from harness import job, load, micro  # noqa: E402


def on_a_terminal(jobs, *flags):
    """What micro prints on standard output and error when both are one."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [harness.MICRO, *harness.PLANNED_RUNS, *flags],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        env=harness.environment(),
    )
    os.close(theirs)
    process.stdin.write(harness.lines(jobs).encode())
    process.stdin.close()
    text = b""
    # The kernel reports the end of the other side as an error.
    with contextlib.suppress(OSError):
        while block := os.read(ours, 65536):
            text += block
    os.close(ours)
    return process.wait(), text.decode().replace("\r\n", "\n")


class NoiseTest(harness.TestCase):
    def test_a_row_and_the_last_line_name_the_load(self):
        if not pathlib.Path("/proc/self/schedstat").exists():
            self.skipTest("this kernel does not count waits for a processor")
        with load():
            run = micro(
                [job("busy", run_indexes=(0, 1), seconds=0.02)],
                "--quiet_wait=0.5",
            )
        self.assertEqual(run.code, 0, run.stderr)
        last = {row["run_index"]: row for row in run.rows}
        self.assertEqual(sorted(last), [0, 1])
        # --stable_within=0: no more than planned, though all are disturbed.
        self.assertEqual(len(run.rows), 2)
        for row in last.values():
            self.assertIn("noisy", row["warnings"])
            self.assertIn("load", row["noise"]["causes"])
            self.assertFalse(row["noise"]["began_quiet"])
        # The budget is for the whole run.
        null = harness.rows_of(run.records, "null")
        waits = [
            row.get("noise", {}).get("waited_s", 0) for row in null + run.rows
        ]
        self.assertLess(sum(waits), 5)
        end = run.stderr.splitlines()[-1]
        self.assertIn("2 runs noisy, contended or throttled (load in 2", end)
        self.assertIn("s for a quiet machine", end)

    def test_more_runs_until_the_budget_is_spent(self):
        """No median is stable within a billionth."""
        flags = ["--stable_within=1e-9"]
        run = micro([job("busy", (0, 1, 2), seconds=0.004)], *flags)
        self.assertEqual(run.code, 0, run.stderr)
        indexes = sorted({row["run_index"] for row in run.rows})
        self.assertEqual(indexes, list(range(len(indexes))))
        # As many again as planned, unless noisy ones were repeated.
        repeated = any(row["attempt"] > 0 for row in run.rows)
        if not repeated:
            self.assertIn(len(indexes), (5, 6, 7))
        self.assertIn("median of 1 job not within 1e-07%", run.stderr)
        # Two runs have no interval.
        run = micro([job("busy", (0, 1), seconds=0.004)], *flags)
        self.assertEqual({row["run_index"] for row in run.rows}, {0, 1})
        # Any median is stable enough.
        run = micro([job("ok", (0, 1, 2))], "--stable_within=1000")
        self.assertEqual({row["run_index"] for row in run.rows}, {0, 1, 2})
        self.assertNotIn("median", run.stderr)

    def test_flags_have_bounds(self):
        for flag in ("--quiet_wait=-2", "--stable_within=nan"):
            run = micro([job("ok")], flag)
            self.assertEqual(run.code, 1)
            self.assertIn("must be at least 0", run.stderr)


class TerminalTest(harness.TestCase):
    def test_a_table_and_no_records(self):
        code, text = on_a_terminal([job("ok", (0, 1, 2)), job("abort")])
        self.assertEqual(code, 0, text)
        self.assertNotIn('"schema"', text)
        self.assertRegex(text, r"transform +library +runs")
        self.assertIn("images/s", text)
        self.assertRegex(text, r"\nabort .*crashed: ")
        self.assertRegex(text.splitlines()[-1], r"^micro: \d+ rows \(1 crashed")

    def test_records_when_requested_or_kept(self):
        code, text = on_a_terminal([job("ok")], "--format=jsonl")
        self.assertEqual(code, 0, text)
        self.assertIn('"record":"row"', text)
        self.assertNotIn("images/s", text)
        path = self.folder / "rows.jsonl"
        code, text = on_a_terminal([job("ok")], f"--output={path}")
        self.assertEqual(code, 0, text)
        self.assertIn("images/s", text)
        self.assertEqual(len(harness.rows_of(harness.read(path), "null")), 1)

    def test_a_table_in_a_pipe_when_requested(self):
        run = harness.Run([harness.MICRO, "--format=table"], [job("ok")])
        self.assertEqual(run.code, 0, run.stderr)
        self.assertNotIn("{", run.stdout)
        self.assertIn("images/s", run.stdout)


class ExitCodeTest(harness.TestCase):
    def test_a_run_whose_rows_all_failed_exits_2(self):
        self.assertEqual(micro([job("abort"), job("exception")]).code, 2)
        self.assertEqual(micro([job("abort"), job("ok")]).code, 0)
        slow = job("slow", seconds=0.06)
        self.assertEqual(micro([job("abort"), slow]).code, 0)


class SettingsTest(harness.TestCase):
    def test_jobs_carry_what_decides_how_they_are_measured(self):
        slow = job("slow", seconds=0.06)
        for fields, status in (
            ({}, "early_stopped"),
            ({"disable_slow_skip": True}, "ok"),
            ({"slow_threshold_s": 10}, "ok"),
            ({"slow_threshold_s": 0.01}, "early_stopped"),
        ):
            run = micro([slow | fields])
            self.assertEqual(run.code, 0, run.stderr)
            self.assertEqual(run.rows[0]["status"], status, fields)
        run = micro([slow | {"preflight_items": 2}])
        self.assertIn("over 2 in the preflight", run.rows[0]["reason"])
        named = {"label": "night", "note": "why", "config": "version: 1"}
        start = micro([job("ok") | named]).records[1]
        self.assertEqual((start["label"], start["note"]), ("night", "why"))
        self.assertIn("version: 1", start["config"])


if __name__ == "__main__":
    unittest.main()
