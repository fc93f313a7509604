"""What gpu_check.py holds rows to."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import gpu_check


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

    def test_the_table_tells_limit_and_engines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.jsonl"
            path.write_text(json.dumps(loader_row()) + "\n")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                gpu_check.show(gpu_check.read_rows(path))
        self.assertIn("80% of jpeg_decode_cpu_and_engine", out.getvalue())
        self.assertIn("JPEG engines 90%", out.getvalue())


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


class EnvironmentTest(unittest.TestCase):
    def test_without_a_wheel_there_is_none(self):
        self.assertEqual(
            gpu_check.make_environment("cvcuda", "wheels/cvcuda*.whl"), 3
        )


if __name__ == "__main__":
    unittest.main()
