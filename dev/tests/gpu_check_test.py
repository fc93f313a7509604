"""What gpu_check.py holds rows to."""

import contextlib
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import gpu_check

_PROGRAM = pathlib.Path(gpu_check.__file__).resolve()


def loader_row(**changes):
    row = {
        "record": "row",
        "mode": "pipeline",
        "library": "cuda",
        "transform": "HorizontalFlip",
        "settings": {"nvjpeg": "hardware"},
        "status": "ok",
        "reason": "",
        "throughput": 20000.0,
        "labels": [],
        "warnings": [],
        "limit": {"name": "jpeg_decode_cpu_and_engine", "throughput": 25000.0},
        "of_limit": 0.8,
        "gpu_memory": {
            "peak_allocated_bytes": 5 << 20,
            "peak_reserved_bytes": 5 << 20,
        },
        "loader": {"gpu": {"samples": 3, "busy": 0.25, "jpeg_busy": 0.9}},
    }
    return row | changes


class GpuCheckTest(unittest.TestCase):
    def problems(self, **changes):
        return gpu_check.check_rows([loader_row(**changes)], "cuda")

    def test_a_good_row_of_a_loader(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.problems(transform="RandomCrop224", limit={}), [])

    def test_what_it_must_not_lack(self):
        for changes, words in (
            ({"limit": {}}, "without a limit"),
            ({"gpu_memory": {}}, "peak of GPU memory"),
            ({"loader": {}}, "utilisation"),
            ({"status": "failed", "reason": "no GPU"}, "failed: no GPU"),
        ):
            (problem,) = self.problems(**changes)
            self.assertIn(words, problem)
        self.assertEqual(gpu_check.check_rows([], "cuda"), ["no rows of cuda"])
        # What DALI's decoder could do at most is not known.
        dali = loader_row(library="dali", limit={})
        self.assertEqual(gpu_check.check_rows([dali], "dali"), [])


class OutOfMemoryTest(unittest.TestCase):
    def problems(self, status, reason, batch="1000000"):
        row = {
            "settings": {"gpu_batch": batch},
            "status": status,
            "reason": reason,
        }
        return gpu_check.check_oom([row])

    def test_words_of_ours_and_of_torch(self):
        for reason in (
            "CUDA out of memory: 183.11 GiB asked for 1000000 outputs, 138.01"
            " GiB of 139.80 GiB free",
            "c10::OutOfMemoryError: CUDA out of memory. Tried to allocate"
            " 183.15 GiB. GPU 0 has a total capacity of 139.80 GiB of which"
            " 138.01 GiB is free.",
        ):
            self.assertEqual(self.problems("oom", reason), [])

    def test_what_is_missing_is_named(self):
        self.assertIn("not oom", self.problems("failed", "x free GiB asked")[0])
        self.assertIn("no size", self.problems("oom", "some is free")[0])
        self.assertIn("nothing free", self.problems("oom", "GiB asked")[0])
        self.assertEqual(self.problems("ok", "", batch="64"), [])
        self.assertEqual(gpu_check.check_oom([]), ["no rows"])


def clip_row(library, **changes):
    row = {
        "record": "row",
        "mode": "decode",
        "library": library,
        "transform": "",
        "status": "ok",
        "reason": "",
        "hardware_class": "gpu",
        "gpu": {"clocks_mhz": [1980]},
        "gpu_memory": {"peak_allocated_bytes": 1},
        "limit": {"name": "nvdec", "throughput": 400.0},
        "decode": {
            "clip_rule": "uniform",
            "frames_compared": 48,
            "wrong_frames": 0,
            "cpu_frames": 0,
        },
        "equivalence": {
            "label": "equivalent",
            "reference": "ffmpeg",
            "max_abs_diff": 0.01,
            "psnr_db": 45.0,
        },
    }
    return row | changes


class ClipsTest(unittest.TestCase):
    def problems(self, rows, *libraries):
        with contextlib.redirect_stdout(io.StringIO()):
            return gpu_check.check_clips(rows, *libraries)

    def test_each_library_has_rows(self):
        rows = [clip_row("nvdec"), clip_row("dali")]
        self.assertEqual(self.problems(rows, "nvdec", "dali"), [])
        self.assertEqual(
            self.problems(rows[:1], "nvdec", "dali"), ["no rows of dali"]
        )
        self.assertEqual(self.problems([]), ["no rows"])

    def test_the_pixels_of_others_are_theirs_and_their_frames_are_not(self):
        other = {"label": "different", "reference": "frame 3 of clip 0 has a"}
        other |= {"max_abs_diff": 0.5}
        rows = [clip_row("dali", equivalence=other)]
        self.assertEqual(self.problems(rows), [])
        rows = [clip_row("nvdec", equivalence=other)]
        self.assertIn("nvdec decode : different", self.problems(rows)[0])
        decode = clip_row("dali")["decode"] | {"wrong_frames": 2}
        self.assertEqual(
            self.problems([clip_row("dali", decode=decode)]),
            ["dali decode : 2 wrong frames"],
        )

    def test_what_rows_of_decoders_must_not_lack(self):
        for changes, words in (
            ({"limit": {"name": "libav"}}, "without the engine's limit"),
            ({"gpu": {}}, "without clocks"),
            ({"status": "failed", "reason": "no driver"}, "failed: no driver"),
        ):
            (problem,) = self.problems([clip_row("dali", **changes)])
            self.assertIn(words, problem)


class EnvironmentTest(unittest.TestCase):
    """Wheels that hold nothing, in a folder like a bundle's."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.wheels = self.folder / "wheels"
        self.wheels.mkdir()
        lock = self.folder / "configs/requirements/paper/dali.lock"
        lock.parent.mkdir(parents=True)
        lock.write_text("six==1 \\\n    --hash=sha256:ab\n")
        # The environment is to see the packages of the Python that has torch.
        (self.folder / "torch").mkdir()
        (self.folder / "torch/__init__.py").touch()
        (self.folder / "of_this_python.py").write_text("NUMBER = 5\n")

    def wheel(self, name, content):
        (self.wheels / name).unlink(missing_ok=True)
        with zipfile.ZipFile(self.wheels / name, "w") as archive:
            archive.writestr("nvidia/dali/__init__.py", content)

    def make(self):
        done = subprocess.run(
            [sys.executable, _PROGRAM, "environment", "dali", self.wheels],
            cwd=self.folder,
            env=os.environ
            | {
                "XDG_CACHE_HOME": str(self.folder / "cache"),
                "PYTHONPATH": str(self.folder),
            },
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def test_without_a_wheel_there_is_none(self):
        code, said = self.make()
        self.assertEqual(code, 3, said)
        self.assertIn("no nvidia_dali_cuda130-*.whl", said)

    def test_one_that_works(self):
        self.wheel(
            "nvidia_dali_cuda130-2.4.0-py3-none-any.whl",
            "from of_this_python import NUMBER\n",
        )
        code, said = self.make()
        self.assertEqual(code, 0, said)
        # What is missing may be there already.
        self.assertIn("has no nvidia_nvimgcodec_cu13", said)
        python = pathlib.Path(said.splitlines()[-1])
        lock = self.folder / "configs/requirements/paper/dali.lock"
        digits = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
        place = self.folder / "cache/feedrate/venvs" / f"dali-{digits}-py3"
        self.assertEqual(python, place / "bin/python")
        self.assertTrue((place / ".complete").exists())
        # The second time it is there.
        self.wheel("nvidia_dali_cuda130-2.4.0-py3-none-any.whl", "1 / 0\n")
        self.assertEqual(self.make(), (0, f"{python}\n"))

    def test_one_that_cannot_be_imported_is_made_again(self):
        name = "nvidia_dali_cuda130-2.4.0-py3-none-any.whl"
        self.wheel(name, "raise ImportError('libnvjpeg.so.13')\n")
        code, said = self.make()
        self.assertEqual(code, 1, said)
        self.assertIn("import nvidia.dali: ImportError: libnvjpeg.so.13", said)
        self.wheel(name, "")
        self.assertEqual(self.make()[0], 0)

    def test_what_to_fetch_is_what_the_lock_pins(self):
        lock = self.folder / "configs/requirements/paper/dali.lock"
        names = gpu_check._WHEELS["dali"][1]
        lock.write_text(
            "".join(
                f"{n.replace('_', '-')}==1.{i} \\\n    --hash=sha256:ab\n"
                for i, n in enumerate(names)
            ).replace("pyyaml", "PyYAML")
        )
        done = subprocess.run(
            [sys.executable, _PROGRAM, "pins", "dali"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        found = done.stdout.split()
        self.assertEqual(found[0], "nvidia-dali-cuda130==1.0")
        self.assertIn("PyYAML==1.11", found)
        self.assertEqual(len(found), len(names))


class IndexTest(unittest.TestCase):
    def test_sides_take_turns_and_are_compared(self):
        # Twice as fast with an index, after an epoch that makes it.
        answers = """#!/usr/bin/env python3
import sys
fast = "--jpeg_index" in sys.argv
for number, _ in enumerate(sys.stdin):
    seconds = 9 if number < 3 else 1 if fast else 2
    print(f'{{"items":4096,"elapsed_s":{seconds}}}', flush=True)
"""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bin/bench_cuda"
            program.parent.mkdir()
            program.write_text(answers)
            program.chmod(0o755)
            done = subprocess.run(
                [sys.executable, _PROGRAM, "index", "images", "2"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 8, done.stdout)
        self.assertIn("2,048 [2,048, 2,048] images/s", lines[0])
        self.assertIn("index, 12 workers", lines[1])
        self.assertIn("times 2.00 [2.00, 2.00]", lines[1])
        self.assertIn("times 1.00 [1.00, 1.00]", lines[7])


if __name__ == "__main__":
    unittest.main()
