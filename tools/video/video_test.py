#!/usr/bin/env python3
"""video from end to end: the real program, decoders and transforms in C++."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

VIDEO = "tools/video/video"
WRITE_VIDEOS = "lib/media/video/write_videos"


def video(*flags, jobs=()):
    run = harness.Run([VIDEO, *harness.PLANNED_RUNS, *flags], jobs, timeout=280)
    # A noisy machine makes further attempts; the last one counts.
    rows = {
        (r["job_id"], r["run_index"]): r
        for r in run.records
        if r["record"] == "row" and (jobs or r["library"] != "null")
    }
    return run, list(rows.values())


def on_device(scenario, mode, scope, **settings):
    """A job of the library that does nothing, with the CPU in the place of a
    device."""
    return {
        "schema": 1,
        "record": "job",
        "job_id": f"{len(settings)}{scenario}{mode}".ljust(16, "0")[:16],
        "scenario": scenario,
        "mode": mode,
        "scope": scope,
        "library": "null",
        "transform": "HorizontalFlip" if mode == "micro" else "",
        "device": "cuda",
        "num_items": 3,
        "thread_policy": "micro-single",
        "dataset": "synthetic:video,n=3,seed=1",
        "settings": {name: str(value) for name, value in settings.items()},
        "run_indexes": [0],
        "hardware_class": "gpu",
        "output": "null.jsonl",
    }


class VideoTest(harness.TestCase):
    def decode(self, *flags):
        return video(
            "--config=configs/native/video_decode.textproto",
            "--num_runs=1",
            *flags,
        )

    def test_decoders_give_the_frames_asked_for(self):
        for container in ("avi", "mp4"):
            run, rows = self.decode(
                "--libraries=ffmpeg",
                "--num_items=4",
                f"--dataset=synthetic:video,n=4,seed=2,container={container}",
                "--sweep=clip_rule=uniform,consecutive",
            )
            self.assertEqual(run.code, 0, run.stderr)
            self.assertEqual(
                [r["decode"]["clip_rule"] for r in rows],
                ["uniform", "consecutive"],
            )
            for row in rows:
                self.assertEqual(row["status"], "ok", row)
                self.assertEqual(row["unit"], "clip")
                self.assertEqual(row["device"], "cpu")
                self.assertEqual(row["items"], 4)
                self.assertEqual(row["equivalence"]["label"], "exact")
                self.assertEqual(row["decode"]["frames_compared"], 48)
                self.assertEqual(row["decode"]["wrong_frames"], 0)
                self.assertEqual(row["decode"]["threads"], 1)
                self.assertAlmostEqual(
                    row["decode"]["frames_per_s"],
                    16 * row["throughput"],
                    delta=1e-6 * row["throughput"],
                )
                self.assertEqual(row["limit"]["name"], "libav")
                self.assertGreater(row["of_limit"], 0)

    def test_what_the_matrix_calls_unsupported_is_a_row(self):
        run, rows = self.decode(
            "--libraries=torchvision",
            "--num_items=2",
            "--dataset=synthetic:video,n=2",
        )
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual([r["status"] for r in rows], ["unsupported"])
        self.assertIn("TorchCodec", rows[0]["reason"])

    def test_broken_files_are_named_and_passed_over(self):
        made = subprocess.run(
            [WRITE_VIDEOS, f"--folder={self.folder}", "--n=2"], check=False
        )
        self.assertEqual(made.returncode, 0)
        first, second = sorted(self.folder.iterdir())
        (self.folder / "a_empty.avi").write_bytes(b"")
        (self.folder / "b_cut.avi").write_bytes(first.read_bytes()[:99999])
        words = [f"c_words_{i}.mp4" for i in range(6)]
        for name in words:
            (self.folder / name).write_text("no video")
        run, rows = self.decode(
            "--libraries=ffmpeg", "--num_items=2", f"--dataset={self.folder}"
        )
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(rows[0]["status"], "ok", rows[0])
        for name in ("a_empty.avi", "b_cut.avi"):
            self.assertIn(f"{name}: skipped: ", run.stderr)
        (listed,) = re.findall(r"skipped 8 files; all are in (.*)", run.stderr)
        for name in words:
            self.assertIn(name, pathlib.Path(listed).read_text())
        self.assertIn(
            "b_cut.avi: skipped: is cut off at byte 99999", run.stderr
        )
        self.assertEqual(rows[0]["dataset"]["skipped_files"], 8)
        run, _ = self.decode(
            "--libraries=ffmpeg", "--num_items=3", f"--dataset={self.folder}"
        )
        self.assertEqual(run.code, 1)
        self.assertIn("has 2 usable videos, not 3", run.stderr)

    def test_transforms_of_clips(self):
        run, rows = video(
            "--config=configs/native/video_micro_cpu.textproto",
            "--libraries=opencv",
            "--transforms=HorizontalFlip,Rotate,RandomCrop224",
            "--dataset=synthetic:video,n=3,seed=1",
            "--num_items=3",
            "--num_runs=1",
        )
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(
            sorted(r["transform"] for r in rows),
            ["HorizontalFlip", "RandomCrop224", "Rotate"],
        )
        for row in rows:
            self.assertEqual(row["status"], "ok", row)
            self.assertEqual(row["unit"], "clip")
            self.assertNotIn("noop", row["warnings"])

    def test_the_way_of_a_gpu_row(self):
        micro = ("video-16f", "micro", "augmentation_only")
        decode = ("video-decode-16f", "decode", "decode_only")
        run, rows = video(
            jobs=[
                on_device(*micro),
                on_device(*micro, gpu_batch=2, l2="hot"),
                on_device(*decode),
            ],
        )
        self.assertEqual(run.code, 0, run.stderr)
        rows = [row for row in rows if row["device"] == "cuda"]
        for row in rows:
            self.assertEqual(row["status"], "ok", row)
            self.assertEqual(row["unit"], "clip")
            self.assertGreater(row["gpu"]["copy_bytes_per_s"], 0)
            self.assertIn("gpu_memory", row)
        found = {(row["mode"], row["gpu"]["batch"]): row for row in rows}
        self.assertIn("cold", found["micro", 0]["labels"])
        self.assertEqual(found["micro", 2]["gpu"]["l2"], "hot")
        self.assertEqual(found["micro", 2]["timed_unit"], "batch")
        # What an engine decodes was in no cache.
        self.assertNotIn("cold", found["decode", 0]["labels"])
        self.assertEqual(found["decode", 0]["gpu"]["l2"], "hot")

    def test_nvdec_says_how_to_build_it(self):
        run, _ = video("--config=configs/native/video_decode_gpu.textproto")
        self.assertEqual(run.code, 1)
        # Where `CUDA=1 make bundle` has built it, DALI is the next that lacks.
        if "video: dali: the Python environment" not in run.stderr:
            self.assertIn(
                "build --config=cuda //lib/adapters/nvdec:worker_nvdec",
                run.stderr,
            )
        run, _ = self.decode("--libraries=nvdec")
        self.assertEqual(run.code, 1)
        self.assertIn("use device cuda, or ffmpeg on the CPU", run.stderr)

    def test_dali_decodes_and_loads_on_the_gpu_alone(self):
        run, _ = video(
            "--config=configs/native/video_micro_gpu.textproto",
            "--libraries=dali",
        )
        self.assertEqual(run.code, 1)
        self.assertIn("DALI runs whole pipelines", run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        run, _ = self.decode("--libraries=dali")
        self.assertEqual(run.code, 1)
        self.assertIn("it has decode on cuda (decode_only)", run.stderr)

    def test_jobs_of_images_are_for_others(self):
        run, _ = video("--config=configs/demo.textproto", "--libraries=opencv")
        self.assertEqual(run.code, 1)
        self.assertIn("run it with micro", run.stderr)

    def test_no_folder(self):
        shutil.rmtree(self.folder)
        run, _ = self.decode(
            "--libraries=ffmpeg", f"--dataset={self.folder}/absent"
        )
        self.assertEqual(run.code, 1)
        self.assertIn("no such folder of videos", run.stderr)


if __name__ == "__main__":
    unittest.main()
