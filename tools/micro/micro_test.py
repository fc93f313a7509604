#!/usr/bin/env python3
"""micro from end to end: the real program, its output and its exit codes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402
from harness import job, micro  # noqa: E402


class MicroTest(harness.TestCase):
    def test_rows_have_what_the_contract_asks(self):
        run = micro([job("ok", run_indexes=(0, 1, 2))])
        self.assertEqual(run.code, 0, run.stderr)
        kinds = [r["record"] for r in run.records]
        self.assertEqual(kinds[:2], ["env", "run"])
        self.assertEqual(set(kinds[2:]), {"row"})
        null = harness.rows_of(run.records, "null")
        self.assertEqual([r["status"] for r in null], ["ok"])
        self.assertEqual(null[0]["timed_unit"], "item")
        last = {r["run_index"]: r for r in run.rows}
        self.assertEqual(sorted(last), [0, 1, 2])
        env, start = run.records[:2]
        self.assertGreater(start["copy_bytes_per_s"], 1e8)
        self.assertEqual(start["command"][0], harness.MICRO)
        for row in last.values():
            self.assertEqual(row["status"], "ok")
            self.assertEqual(row["unit"], "image")
            self.assertGreaterEqual(row["items"], 8)
            self.assertEqual(row["run_id"], start["run_id"])
            self.assertEqual(row["env_id"], env["env_id"])
            self.assertEqual(row["machine_profile"], env["machine_profile"])
            self.assertAlmostEqual(sum(row["samples_s"]), row["elapsed_s"])
            self.assertAlmostEqual(
                row["throughput"], row["items"] / row["elapsed_s"], places=3
            )
            self.assertEqual(row["dataset"]["files"], 8)
            self.assertEqual(len(row["dataset"]["sha256"]), 64)
            self.assertGreater(row["rss_peak_bytes"], 1e6)
            self.assertGreater(row["preflight_s"], 0)
            self.assertNotEqual(row["library_version"], "")
            self.assertNotEqual(row["hardware"], "")

    def test_the_way_of_a_gpu_row(self):
        """With the CPU in the place of a device: everything but its clock."""
        on_device = {"device": "cuda", "hardware_class": "gpu"}
        alone = job("One", library="null") | on_device
        batch = job("Batch", library="null", gpu_batch=4, l2="hot") | on_device
        run = micro([alone, batch])
        self.assertEqual(run.code, 0, run.stderr)
        rows = {
            row["transform"]: row
            for row in harness.rows_of(run.records, "null")
            if row["device"] == "cuda"
        }
        self.assertEqual(sorted(rows), ["Batch", "One"])
        one, many = rows["One"], rows["Batch"]
        self.assertEqual(one["gpu"]["l2"], "cold")
        self.assertIn("cold", one["labels"])
        self.assertEqual(one["timed_unit"], "chunk")
        self.assertGreaterEqual(len(one["samples_s"]), 20)
        self.assertEqual(many["gpu"]["l2"], "hot")
        self.assertEqual(many["gpu"]["batch"], 4)
        self.assertEqual(many["timed_unit"], "batch")
        self.assertEqual(many["items"], 4 * len(many["samples_s"]))
        for row in rows.values():
            self.assertEqual(row["gpu"]["clocks_mhz"], [])
            self.assertGreater(row["gpu"]["copy_bytes_per_s"], 0)
            self.assertIn("gpu_memory", row)

    def test_settings_of_a_gpu_are_not_for_the_cpu(self):
        run = micro([job("ok", library="null", l2="hot")])
        self.assertEqual(run.code, 1)
        self.assertIn("are for device cuda", run.stderr)

    def test_short_calls_are_timed_in_chunks(self):
        row = micro([job("noop")]).rows[-1]
        if row["p50_s"] / (row["items"] / len(row["samples_s"])) < 5e-6:
            self.assertEqual(row["timed_unit"], "chunk")

    def test_a_death_costs_its_own_row(self):
        jobs = [job("ok"), job("segfault", at=138), job("ok", when="call")]
        run = micro(jobs)
        self.assertEqual(run.code, 0, run.stderr)
        statuses = [r["status"] for r in run.rows if r["attempt"] == 0]
        self.assertEqual(statuses, ["ok", "crashed", "ok"])
        crash = next(r for r in run.rows if r["status"] == "crashed")
        self.assertIn("killed by SIGSEGV", crash["reason"])

    def test_a_failure_is_answered_for_every_run(self):
        run = micro([job("exception", run_indexes=(0, 1, 2))])
        self.assertEqual([r["status"] for r in run.rows], ["failed"] * 3)
        self.assertEqual([r["run_index"] for r in run.rows], [0, 1, 2])
        self.assertIn("thrown on purpose", run.rows[0]["reason"])

    def test_a_slow_transform_stops_early(self):
        run = micro([job("slow", run_indexes=(0, 1), seconds=0.06)])
        self.assertEqual([r["status"] for r in run.rows], ["early_stopped"] * 2)
        self.assertIn("in the preflight", run.rows[0]["reason"])
        self.assertLess(run.rows[0]["throughput"], 1 / 0.06)
        self.assertEqual(run.rows[0]["slow_threshold_s"], 0.05)
        self.assertEqual(run.rows[0]["elapsed_s"], 0)

    def test_what_the_matrix_calls_unsupported_does_not_run(self):
        asked = job("hang", run_indexes=(0, 1))
        asked["unsupported_reason"] = "the library cannot"
        run = micro([asked, job("ok")])
        rows = [r for r in run.rows if r["transform"] == "hang"]
        self.assertEqual([r["status"] for r in rows], ["unsupported"] * 2)
        self.assertEqual(rows[0]["reason"], "the library cannot")

    def test_retries_are_attempts(self):
        run = micro([job("abort")], "--retries=2")
        self.assertEqual([r["attempt"] for r in run.rows], [0, 1, 2])
        self.assertEqual({r["status"] for r in run.rows}, {"crashed"})

    def test_more_threads_than_one_are_seen(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two processors")
        run = micro([job("busy", threads=8, seconds=0.02)])
        warned = {w for r in run.rows for w in r["warnings"]}
        # On a machine that is busy itself the others may get no time. They are
        # so many that the first one then waits, too, or counts as slow.
        busy = "contended" in warned or run.rows[0]["status"] != "ok"
        if not busy:
            self.assertIn("multithreaded", warned)

    def test_memory_is_limited(self):
        run = micro([job("allocate"), job("ok")], "--memory-limit=100M")
        self.assertEqual(run.rows[0]["status"], "oom")
        self.assertIn("100 MB above", run.rows[0]["reason"])
        self.assertEqual(run.rows[-1]["status"], "ok")

    def test_a_full_gpu_is_a_row_and_costs_no_other(self):
        run = micro(
            [
                job("torch_memory", when="call", at=40, run_indexes=range(2)),
                job("cuda_memory", when="prepare"),
                job("ok"),
            ]
        )
        # One that the machine disturbed is measured again.
        first = [row["status"] for row in run.rows if row["attempt"] == 0]
        self.assertEqual(first, ["oom", "oom", "oom", "ok"])
        reason = run.rows[0]["reason"]
        self.assertIn("Tried to allocate 732.42 GiB", reason)
        self.assertIn("138.01 GiB is free", reason)
        # Where in its code torch found out is of no use in a row.
        self.assertNotIn("frame #0", reason)

    def test_fail_on_makes_it_exit_3(self):
        self.assertEqual(
            micro([job("abort")], "--fail_on=failed,crashed").code, 3
        )
        self.assertEqual(micro([job("ok")], "--fail_on=failed,crashed").code, 0)

    def test_callers_mistakes_exit_1(self):
        other = {**job("ok"), "scenario": "video-16f"}
        run = micro([other])
        self.assertEqual(run.code, 1)
        self.assertIn("run it with video", run.stderr)
        self.assertEqual(run.records, [])
        run = micro([])
        self.assertEqual(run.code, 1)
        self.assertIn("no jobs", run.stderr)
        run = micro([job("ok")], "--num_items=3")
        self.assertEqual(run.code, 1)
        self.assertIn("--num_items", run.stderr)
        run = micro([job("ok")], "--fail_on=crash")
        self.assertEqual(run.code, 1)
        self.assertIn("crashed", run.stderr)
        run = micro([{**job("ok"), "dataset": "val"}])
        self.assertEqual(run.code, 1)
        self.assertIn("--dataset=DIR", run.stderr)
        run = micro([{**job("ok"), "num_items": 9}])
        self.assertEqual(run.code, 1)
        self.assertIn("--num_items=8", run.stderr)

    def test_a_missing_environment_says_what_to_run(self):
        flags = ["--config=configs/demo.textproto", "--libraries=pillow"]
        run = micro([], *flags)
        self.assertEqual(run.code, 1)
        self.assertIn("run: make envs", run.stderr)
        run = micro([], *flags, "--skip-missing")
        self.assertEqual(run.code, 1)
        self.assertIn("left out pillow", run.stderr)

    def test_libraries_of_one_transform_take_turns(self):
        jobs = [
            job("ok", (0, 1, 2)),
            job("exit", (0,), when="prepare"),
            job("ok", (0, 1, 2), library="null"),
        ]
        run = micro(jobs)
        rows = [
            r
            for r in run.records[2:]
            if r["transform"] == "ok" and r["attempt"] == 0
        ]
        # One run of each before the next of any, though another job came first.
        self.assertEqual([r["run_index"] for r in rows], [0, 0, 1, 1, 2, 2])
        for first, second in zip(rows[::2], rows[1::2], strict=True):
            libraries = {first["library"], second["library"]}
            self.assertEqual(libraries, {"faulty", "null"})

    def test_runs_of_a_job_are_far_apart(self):
        """Else they would all see the same state of the machine."""
        jobs = [job("ok", (0, 1, 2)), job("noop", (0, 1)), job("busy", (1, 2))]
        run = micro(jobs)
        rows = [r for r in run.rows if r["attempt"] == 0]
        self.assertEqual(
            [(r["run_index"], r["transform"]) for r in rows],
            [(0, "ok"), (0, "noop"), (1, "busy")]
            + [(1, "ok"), (1, "noop")]
            + [(2, "ok"), (2, "busy")],
        )
        for row in rows:
            speed = row["core_speed"]
            for name in ("probe", "slow_above", "chain_s", "copy_bytes_per_s"):
                self.assertGreater(speed[name], 0)
            # There was no time to take samples again.
            self.assertEqual(speed["repeated_samples"], 0)
            if speed["slow_share"] > 0.02:
                self.assertIn("slow_core", row["noise"]["causes"])

    def test_a_missing_worker_says_what_to_build(self):
        run = micro([job("ok", library="null")], "--config=")
        self.assertEqual(run.code, 0, run.stderr)
        # Away from the build folder, where somebody may have built the worker.
        alone = self.folder / "micro"
        shutil.copy(harness.MICRO, alone)
        flags = ["--config=configs/demo_full.textproto", "--libraries=torch"]
        run = subprocess.run(
            [alone, *flags],
            capture_output=True,
            text=True,
            env=harness.environment(),
            check=False,
        )
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("//lib/adapters/torch:worker_torch", run.stderr)

    def test_an_existing_file_is_not_overwritten(self):
        path = self.folder / "rows.jsonl"
        path.write_text("precious\n")
        run = micro([job("ok")], f"--output={path}")
        self.assertEqual(run.code, 1)
        self.assertEqual(path.read_text(), "precious\n")

    def test_resume_does_only_what_is_left(self):
        path = self.folder / "rows.jsonl"
        jobs = [job("ok", (0, 1)), job("noop", (0,)), job("abort", (0,))]
        self.assertEqual(micro(jobs[:1], f"--output={path}").code, 0)
        before = path.read_text()
        # As a writer that died in the middle of a line leaves it.
        path.write_text(before + '{"schema":1,"record":"row","job_id":"12')
        run = micro(jobs, f"--output={path}", "--resume")
        self.assertEqual(run.code, 0, run.stderr)
        self.assertIn("cut off a torn last line", run.stderr)
        self.assertTrue(path.read_text().startswith(before))
        again = path.read_text()[len(before) :].splitlines()
        rows = harness.rows_of([json.loads(line) for line in again])
        self.assertEqual({r["transform"] for r in rows}, {"noop", "abort"})
        # A crash is not done; everything else is.
        run = micro(jobs, f"--output={path}", "--resume")
        rows = harness.rows_of(harness.read(path))
        crashes = [r["attempt"] for r in rows if r["transform"] == "abort"]
        self.assertEqual(crashes, [0, 1])

    def test_resume_with_nothing_left_writes_nothing(self):
        path = self.folder / "rows.jsonl"
        self.assertEqual(micro([job("ok")], f"--output={path}").code, 0)
        before = path.read_text()
        run = micro([job("ok")], f"--output={path}", "--resume")
        self.assertEqual(run.code, 0)
        self.assertIn("every run is done", run.stderr)
        self.assertEqual(path.read_text(), before)

    def test_a_folder_gets_the_standard_names(self):
        run = micro([job("ok")], f"--output={self.folder}/out/")
        self.assertEqual(run.code, 0, run.stderr)
        names = sorted(p.name for p in self.folder.rglob("*.jsonl"))
        self.assertEqual(
            names, ["faulty_micro_results.jsonl", "null_micro_results.jsonl"]
        )
        for path in self.folder.rglob("*.jsonl"):
            kinds = [r["record"] for r in harness.read(path)]
            self.assertEqual(kinds[:3], ["env", "run", "row"])

    def interrupt(self, number, code):
        jobs = [job("ok"), job("hang"), job("noop")]
        process = harness.start(jobs)
        # The row of the first job is out: the second one hangs, or soon will.
        for line in process.stdout:
            if '"transform":"ok"' in line:
                break
        time.sleep(0.3)
        process.send_signal(number)
        rest = process.stdout.read()
        stderr = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=120), code, stderr)
        for line in rest.splitlines():
            self.assertEqual(json.loads(line)["schema"], 1)
        self.assertIn("interrupted", stderr)

    def test_ctrl_c_exits_130(self):
        self.interrupt(signal.SIGINT, 130)

    def test_sigterm_exits_2(self):
        self.interrupt(signal.SIGTERM, 2)

    def test_workers_die_with_a_killed_runner(self):
        process = harness.start([job("hang")])
        for line in process.stdout:
            if '"library":"null"' in line:
                break
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        # tearDown looks; only a worker that stays takes the minute.
        deadline = time.monotonic() + 60
        while harness.workers_left() and time.monotonic() < deadline:
            time.sleep(0.05)

    def test_a_reader_that_goes_away_ends_the_run(self):
        process = harness.start([job("ok", range(200))])
        process.stdout.close()
        stderr = process.stderr.read()
        process.stderr.close()
        # As any program of a pipe; what it started ends with it.
        self.assertEqual(process.wait(timeout=120), -signal.SIGPIPE, stderr)

    def test_help_and_account(self):
        done = subprocess.run(
            [harness.MICRO, "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("measure one transform at a time", done.stdout)
        run = micro([job("ok")], "--profile-harness")
        self.assertRegex(run.stderr.splitlines()[-1], r"harness [\d.]+%")


if __name__ == "__main__":
    unittest.main()
