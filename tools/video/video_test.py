"""video from end to end: the real program, decoders and transforms in C++."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

VIDEO = "tools/video/video"
WRITE_VIDEOS = "lib/media/video/write_videos"


def environment():
    cache = os.environ.get("TEST_TMPDIR", tempfile.gettempdir())
    return {
        **os.environ,
        "FEEDRATE_WORKERS": str(pathlib.Path.cwd()),
        "XDG_CACHE_HOME": cache,
        "HOME": cache,
    }


def video(*flags):
    done = subprocess.run(
        [VIDEO, *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        env=environment(),
        check=False,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [r for r in records if r["record"] == "row"]
    return done, [r for r in rows if r["library"] != "null"]


class VideoTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(
            tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        )

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
            self.assertEqual(run.returncode, 0, run.stderr)
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
            "--libraries=torchvision", "--dataset=synthetic:video,n=2"
        )
        self.assertEqual(run.returncode, 0, run.stderr)
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
        (self.folder / "c_words.mp4").write_text("no video")
        run, rows = self.decode(
            "--libraries=ffmpeg", "--num_items=2", f"--dataset={self.folder}"
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(rows[0]["status"], "ok", rows[0])
        for name in ("a_empty.avi", "b_cut.avi", "c_words.mp4"):
            self.assertIn(f"{name}: skipped: ", run.stderr)
        run, _ = self.decode(
            "--libraries=ffmpeg", "--num_items=3", f"--dataset={self.folder}"
        )
        self.assertEqual(run.returncode, 1)
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
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(
            sorted(r["transform"] for r in rows),
            ["HorizontalFlip", "RandomCrop224", "Rotate"],
        )
        for row in rows:
            self.assertEqual(row["status"], "ok", row)
            self.assertEqual(row["unit"], "clip")
            self.assertNotIn("noop", row["warnings"])

    def test_jobs_of_images_are_for_others(self):
        run, _ = video("--config=configs/demo.textproto", "--libraries=opencv")
        self.assertEqual(run.returncode, 1)
        self.assertIn("run it with micro", run.stderr)

    def test_no_folder(self):
        shutil.rmtree(self.folder)
        run, _ = self.decode(
            "--libraries=ffmpeg", f"--dataset={self.folder}/absent"
        )
        self.assertEqual(run.returncode, 1)
        self.assertIn("no such folder of videos", run.stderr)


if __name__ == "__main__":
    unittest.main()
