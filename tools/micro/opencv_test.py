#!/usr/bin/env python3
"""micro with a real library: plan, rows, equivalence and its cache."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

CONFIG = [
    "--config=configs/demo.textproto",
    "--libraries=opencv",
    "--num_items=4",
]


def facts(run):
    """What two runs of the same jobs have in common, noise or not."""
    return [
        (
            row["job_id"],
            row["run_index"],
            row["status"],
            row["settings"],
            row["labels"],
            row["equivalence"],
            row["dataset"],
        )
        for row in harness.rows_of(run.records, "opencv")
        if row["attempt"] == 0
    ]


class OpencvTest(unittest.TestCase):
    def setUp(self):
        cache = pathlib.Path(harness.environment()["XDG_CACHE_HOME"])
        shutil.rmtree(cache / "feedrate", ignore_errors=True)

    def test_rows_of_every_transform(self):
        run = harness.micro([], *CONFIG, "--num_runs=2")
        self.assertEqual(run.code, 0, run.stderr)
        rows = harness.rows_of(run.records, "opencv")
        self.assertEqual({r["status"] for r in rows}, {"ok"})
        runs = {(r["transform"], r["run_index"]) for r in rows}
        self.assertEqual(len(runs), 8 * 2)
        labels = {r["transform"]: r["equivalence"]["label"] for r in rows}
        self.assertEqual(labels["HorizontalFlip"], "exact")
        self.assertEqual(labels["Invert"], "exact")
        self.assertEqual(labels["Rotate"], "unchecked")
        for row in rows:
            self.assertEqual(row["params_profile"], "paper")
            if row["transform"] != "Resize":
                self.assertEqual(row["limit"]["name"], "copy")
                self.assertAlmostEqual(
                    row["of_limit"],
                    row["throughput"] / row["limit"]["throughput"],
                )

    def test_a_pipe_and_a_config_give_the_same_rows(self):
        """With settings that no id has, in a config of its own."""
        text = pathlib.Path("configs/demo.textproto").read_text()
        config = harness.new_folder() / "own.textproto"
        # An image in less than a nanosecond: everything is slow.
        more = 'note: "slow"\nexecution {\n  slow_threshold_s: 1e-9'
        for name, change in (("demo", "execution {"), ("slow", more)):
            config.write_text(text.replace("execution {", change))
            flags = [f"--config={config}", "--configs=configs", *CONFIG[1:]]
            planned = subprocess.run(
                ["tools/plan/plan", *flags],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            jobs = [json.loads(line) for line in planned.splitlines()]
            piped = harness.micro(jobs)
            alone = harness.micro([], *flags)
            for run in (piped, alone):
                self.assertEqual(run.code, 0, run.stderr)
            for field in ("config", "label", "note"):
                self.assertEqual(
                    piped.records[1][field], alone.records[1][field]
                )
            self.assertEqual(piped.records[1]["label"], "demo")
            self.assertEqual(facts(piped), facts(alone))
            statuses = {status for _, _, status, *_ in facts(piped)}
            early = {"ok"} if name == "demo" else {"early_stopped"}
            self.assertEqual(statuses, early)

    def test_verify_prints_the_table(self):
        run = subprocess.run(
            [harness.MICRO, *CONFIG, "--verify"],
            capture_output=True,
            text=True,
            check=True,
            env=harness.environment(),
        )
        lines = run.stdout.splitlines()
        self.assertEqual(lines[0].split(), ["transform", "opencv"])
        cells = dict(line.split() for line in lines[2:10])
        self.assertEqual(cells["HorizontalFlip"], "exact")
        again = harness.micro([], *CONFIG, "--verify", "--format=jsonl")
        labels = {
            r["transform"]: r["equivalence"]["label"] for r in again.records
        }
        self.assertEqual(labels, cells)
        self.assertEqual({r["record"] for r in again.records}, {"verification"})

    def test_answers_are_remembered(self):
        first = harness.micro([], *CONFIG, "--transforms=Invert")
        cache = pathlib.Path(harness.environment()["XDG_CACHE_HOME"])
        file = cache / "feedrate/equivalence.jsonl"
        text = file.read_text()
        self.assertEqual(text.count('"label":"exact"'), 1)
        # What the file says is believed: that is how one can tell.
        file.write_text(text.replace('"exact"', '"equivalent"'))
        second = harness.micro([], *CONFIG, "--transforms=Invert")
        for run, label in ((first, "exact"), (second, "equivalent")):
            rows = harness.rows_of(run.records, "opencv")
            self.assertEqual(rows[-1]["equivalence"]["label"], label)
        # Another data set is another question.
        other = harness.micro(
            [], *CONFIG, "--transforms=Invert", "--dataset=synthetic:rgb,seed=9"
        )
        rows = harness.rows_of(other.records, "opencv")
        self.assertEqual(rows[-1]["equivalence"]["label"], "exact")


if __name__ == "__main__":
    unittest.main()
