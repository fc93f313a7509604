#!/usr/bin/env python3
"""Real noise, made by a load generator: nobody wins, and the printed commands
measure the disturbed runs again."""

import contextlib
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

PROGRAMS = ("aggregate", "check_coverage", "micro")
PLAN = [
    "--config=configs/demo.textproto",
    "--libraries=opencv",
    "--transforms=HorizontalFlip,Invert",
    "--num_items=16",
    "--num_runs=5",
    "--min_time=0.2",
]


@contextlib.contextmanager
def load():
    """Four busy processes per processor."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(4 * os.cpu_count())
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def shell(command):
    """Runs a printed command, with the programs in PATH."""
    folders = [os.path.abspath(f"tools/{name}") for name in PROGRAMS]
    path = ":".join([*folders, os.environ.get("PATH", "")])
    return subprocess.run(
        ["bash", "-c", "set -o pipefail; " + command],
        env={**harness.environment(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def run(command, *arguments):
    done = subprocess.run(
        [f"tools/{command}/{command}", *map(str, arguments)],
        env=harness.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def disturbed(row):
    return bool({"noisy", "contended", "throttled"} & set(row["warnings"]))


class NoiseTest(harness.TestCase):
    def measure(self, name):
        done = harness.micro([], *PLAN)
        self.assertEqual(done.code, 0, done.stderr)
        file = self.folder / name
        file.write_text(done.stdout)
        return file, harness.rows_of(done.records, "opencv")

    def twin(self, rows):
        """The same work under another name: each winner is a false one."""
        for row in rows:
            row["library"] = "twin"
            row["job_id"] = "f" + row["job_id"][1:]
        file = self.folder / "twin.jsonl"
        file.write_text(harness.lines(rows))
        return file

    def rerun(self, text, file):
        """Runs the command in `text`; returns the new rows."""
        command = re.search(r"\$ (.* \| micro >> .*)", text)
        self.assertIsNotNone(command, text)
        before = len(harness.read(file))
        done = shell(command[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        return harness.rows_of(harness.read(file)[before:], "opencv")

    def test_noise_makes_no_winner_and_is_measured_again(self):
        twin = self.twin(self.measure("quiet.jsonl")[1])
        with load():
            file, rows = self.measure("rows.jsonl")
        noisy = {(r["transform"], r["run_index"]) for r in rows if disturbed(r)}
        self.assertGreater(len(noisy), 5, "the load generator did not disturb")

        code, out, err = run("aggregate", "--format=jsonl", file, twin)
        self.assertEqual(code, 0, err)
        groups = [json.loads(line) for line in out.splitlines()]
        libraries = {g["by"]["library"] for g in groups}
        self.assertEqual(libraries, {"opencv", "twin"})
        self.assertFalse(any(g["fastest"] for g in groups), out)
        self.assertTrue(all(g["tied"] for g in groups), out)
        code, out, err = run("aggregate", "--relative_to=twin", file, twin)
        self.assertEqual(code, 0, err)
        self.assertNotRegex(out, r"opencv .* [0-9.]+x ")
        self.assertIn("disturbed", out.splitlines()[3])
        self.assertRegex(out, r"noise: \d+ of 20 runs were disturbed")

        _, table, _ = run("aggregate", file)
        again = self.rerun(table, file)
        self.assertGreater(len(again), 0)
        self.assertLessEqual(
            {(r["transform"], r["run_index"]) for r in again}, noisy
        )
        self.assertLessEqual(
            {r["job_id"] for r in again}, {r["job_id"] for r in rows}
        )
        _, out, _ = run("aggregate", "--format=jsonl", file)
        self.assertEqual(
            [json.loads(line)["runs"] for line in out.splitlines()], [5, 5]
        )

    def test_coverage_counts_noise_and_measures_it_again(self):
        jobs = self.folder / "jobs.jsonl"
        code, out, err = run("plan", *PLAN)
        self.assertEqual(code, 0, err)
        jobs.write_text(out)
        with load():
            file, _ = self.measure("rows.jsonl")
        code, out, err = run("check_coverage", f"--plan={jobs}", file)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out.splitlines()[0], r"\d+ runs disturbed \(")
        self.assertRegex(out, r"warning: noisy \(\d+\)")
        self.assertGreater(len(self.rerun(out, file)), 0)
        code, out, err = run("check_coverage", f"--plan={jobs}", file)
        self.assertEqual(code, 0, out + err)


if __name__ == "__main__":
    unittest.main()
