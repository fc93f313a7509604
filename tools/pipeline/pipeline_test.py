#!/usr/bin/env python3
"""pipeline from end to end: the real program, its output and exit codes.

The loader is `null`, which delivers zeros: what is tested is the harness.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

PIPELINE = "tools/pipeline/pipeline"
MEMORY = "memory_dataloader_augment"
DECODE = "decode_dataloader_augment"


def job(scope=MEMORY, run_indexes=(0,), workers=0, **fields):
    """A job of the null loader."""
    made = harness.job(
        "Nothing",
        run_indexes,
        "null",
        scope=scope,
        workers=workers,
        **fields.pop("settings", {}),
    )
    made["settings"].pop("scope")
    made["settings"].pop("workers")
    made.update(
        mode="pipeline",
        scope=scope,
        workers=workers,
        batch_size=4,
        num_items=10,
        dataset="synthetic:rgb,n=10,seed=3",
        thread_policy="pipeline-default",
    )
    made.update(fields)
    return made


class Run(harness.Run):
    def __init__(self, jobs, *flags):
        super().__init__([PIPELINE, *harness.PLANNED_RUNS, *flags], jobs)
        ids = {j["job_id"] for j in jobs}
        self.rows = [
            r
            for r in self.records
            if r["record"] == "row" and r["job_id"] in ids
        ]


class PipelineTest(harness.TestCase):
    def test_rows_have_what_the_contract_asks(self):
        run = Run([job(run_indexes=(0, 1))])
        self.assertEqual(run.code, 0, run.stderr)
        kinds = [r["record"] for r in run.records]
        self.assertEqual(kinds[:2], ["env", "run"])
        null = [
            r for r in run.records if r["record"] == "row" and r not in run.rows
        ]
        self.assertEqual(len(null), 1, "the harness has its own row")
        self.assertEqual([r["run_index"] for r in run.rows], [0, 1])
        for row in run.rows:
            self.assertEqual(row["status"], "ok")
            self.assertEqual(row["unit"], "image")
            self.assertEqual(row["timed_unit"], "batch")
            self.assertEqual(row["items"], 10)
            self.assertEqual(len(row["samples_s"]), 3)
            self.assertAlmostEqual(
                row["throughput"], row["items"] / row["elapsed_s"], places=3
            )
            self.assertGreaterEqual(row["p99_s"], row["p50_s"])
            loader = row["loader"]
            self.assertEqual(loader["epochs"], 1)
            self.assertEqual(loader["batches"], 3)
            self.assertEqual(loader["bytes_out"], 10 * 3 * 224 * 224 * 4)
            self.assertLessEqual(loader["startup_s"], loader["first_batch_s"])
            self.assertLessEqual(loader["first_batch_s"], row["elapsed_s"])
            self.assertGreaterEqual(loader["teardown_s"], 0)
            self.assertEqual(loader["errors_total"], 0)
            self.assertNotIn("cache", row, "nothing is read in this scope")
            self.assertEqual(len(row["dataset"]["sha256"]), 64)
            self.assertGreater(row["rss_peak_bytes"], 1e6)
            self.assertGreater(row["preflight_s"], 0)

    def test_files_are_written_once_and_warm(self):
        run = Run([job(DECODE)])
        self.assertEqual(run.code, 0, run.stderr)
        row = run.rows[0]
        self.assertEqual(row["dataset"]["files"], 10)
        self.assertGreater(row["dataset"]["bytes"], 10000)
        self.assertEqual(row["cache"]["resident_fraction"], 1)
        self.assertEqual(row["cache"]["bytes_read"], 0)
        self.assertNotIn("cold", row["labels"])
        cache = pathlib.Path(harness.environment()["XDG_CACHE_HOME"])
        files = list(cache.glob("feedrate/synthetic/seed3/*.jpg"))
        self.assertGreaterEqual(len(files), 10)

    def test_cold_is_proved_or_not_claimed(self):
        row = Run([job(DECODE)], "--cold").rows[0]
        share = row["cache"]["resident_fraction"]
        label = "cold" if share <= 0.01 else "partly_cold"
        self.assertEqual(row["labels"], [label])

    def test_epochs_repeat_until_the_minimum(self):
        row = Run([job(settings={"min_batches": 7})]).rows[0]
        self.assertEqual(row["loader"]["epochs"], 3)
        self.assertEqual(row["loader"]["batches"], 9)
        self.assertEqual(row["items"], 30)

    def test_a_sample_is_indicative(self):
        row = Run([job(settings={"sample_ratio": 0.5})]).rows[0]
        self.assertEqual(row["items"], 5)
        self.assertEqual(row["labels"], ["indicative"])

    def test_a_training_step_is_played(self):
        few = Run([job()], "--consumer_ms=5")
        self.assertNotIn("utilisation_mark", few.rows[0]["loader"])
        self.assertIn("no verdict from 3 batches", few.stderr)
        run = Run([job(settings={"min_batches": 20})], "--consumer_ms=5")
        loader = run.rows[0]["loader"]
        self.assertEqual(loader["consumer_step_s"], 0.005)
        self.assertGreater(loader["consumer_utilisation"], 0)
        self.assertEqual(loader["utilisation_mark"], 0.9)
        self.assertNotIn("cpu_idle", loader)
        self.assertIn("accelerator utilization", run.stderr)
        self.assertIn("MLPerf Storage passes from 90% on", run.stderr)

    def test_a_sweep_ends_with_advice(self):
        jobs = [job(workers=w) for w in (0, 1, 2)]
        run = Run(jobs, "--noworker_efficiency")
        self.assertEqual([r["workers"] for r in run.rows], [0, 1, 2])
        # Rows of null are the harness's own and no loader to advise on.
        self.assertNotIn("Use ", run.stderr)

    def test_resume_does_what_is_left(self):
        rows = self.folder / "rows.jsonl"
        first = Run([job()], f"--output={rows}")
        self.assertEqual(first.code, 0, first.stderr)
        again = Run([job()], f"--output={rows}")
        self.assertEqual(again.code, 1, "not without --resume")
        topped = Run([job(run_indexes=(0, 1))], f"--output={rows}", "--resume")
        self.assertEqual(topped.code, 0, topped.stderr)
        records = harness.read(rows)
        mine = [
            r
            for r in records
            if r["record"] == "row" and r["job_id"] == job()["job_id"]
        ]
        self.assertEqual([r["run_index"] for r in mine], [0, 1])

    def test_a_folder_of_files_is_listed(self):
        for name in ("b.jpg", "a.JPG", "c.txt", "d.npy"):
            (self.folder / name).write_bytes(b"x" * 10)
        made = job(DECODE, dataset=self.folder.name)
        made["num_items"] = 0
        run = Run([made], f"--dataset={self.folder}")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(run.rows[0]["dataset"]["files"], 3)
        self.assertEqual(run.rows[0]["items"], 3)

    def test_only_plain_files_are_data(self):
        (self.folder / "a.jpg").write_bytes(b"x" * 10)
        made = job(DECODE, dataset=self.folder.name)
        made["num_items"] = 0
        odd = self.folder / "b.jpg"
        for make, what in (
            (lambda: os.mkfifo(odd), "a named pipe"),
            (lambda: odd.symlink_to("/dev/zero"), "a device"),
        ):
            make()
            run = Run([made], f"--dataset={self.folder}")
            self.assertEqual(run.code, 1, run.stderr)
            self.assertIn(f"{odd}: is {what}", run.stderr)
            odd.unlink()

    def test_a_store_that_says_nothing_does_not_hold_a_signal_back(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            made = job(DECODE, dataset="x.jpg", num_items=1)
            process = subprocess.Popen(
                [PIPELINE, f"--dataset=http://127.0.0.1:{port}/x.jpg"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=harness.environment(),
            )
            process.stdin.write(harness.lines([made]))
            process.stdin.close()
            # Its connection waits for an answer from here on.
            silent.settimeout(120)
            connection = silent.accept()[0]
            process.send_signal(signal.SIGTERM)
            # 10 s; a request alone takes 30 s, and is repeated.
            self.assertEqual(process.wait(timeout=25), 2)
            self.assertIn("did not end by itself", process.stderr.read())
            process.stderr.close()
            connection.close()

    def test_mistakes_are_named(self):
        for jobs, flags, text in (
            ([harness.job("ok")], [], "run it with micro"),
            ([job(settings={"prefetch": 0})], [], "setting prefetch"),
            ([job()], ["--on_error=stop"], "--on_error"),
            ([job()], ["--consumer_ms=-1"], "--consumer_ms"),
            ([job(DECODE, dataset="val")], [], "--dataset=DIR"),
        ):
            run = Run(jobs, *flags)
            self.assertEqual(run.code, 1, run.stderr)
            self.assertIn(text, run.stderr)

    def test_micro_names_this_program(self):
        done = harness.micro([job()])
        self.assertEqual(done.code, 1)
        self.assertIn("run it with pipeline", done.stderr)

    def test_an_interrupt_leaves_nothing_behind(self):
        rows = self.folder / "rows.jsonl"
        # Each takes 40 times as long: the null loader has nothing to do.
        jobs = [job(run_indexes=range(10000), settings={"min_time": 0.02})]
        process = subprocess.Popen(
            [PIPELINE, *harness.PLANNED_RUNS, f"--output={rows}"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=harness.environment(),
        )
        process.stdin.write(harness.lines(jobs))
        process.stdin.close()
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            if rows.exists() and rows.read_text().count("\n") > 4:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # All runs would take 200 s at least, on any machine.
        self.assertEqual(process.wait(timeout=120), 130)
        process.stderr.close()
        harness.read(rows)

    def test_help_and_version(self):
        for flag in ("--help", "--version"):
            done = subprocess.run(
                [PIPELINE, flag], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 0)
            self.assertIn("pipeline", done.stdout)


if __name__ == "__main__":
    unittest.main()
