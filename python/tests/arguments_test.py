"""Arguments of feedrate.Loader that are not possible, and the package."""

import subprocess
import sys
import unittest

import cases  # Puts feedrate on the path.
import feedrate
import numpy as np


class PackageTest(unittest.TestCase):
    def test_dir_and_a_machine_without_numpy(self):
        self.assertIn("Loader", dir(feedrate))
        self.assertIn("__version__", dir(feedrate))
        code = "import sys; sys.modules['numpy'] = None; import feedrate"
        for use in ("feedrate.Loader", "from feedrate import Loader"):
            done = subprocess.run(
                [sys.executable, "-B", "-c", f"{code}; {use}"],
                env={"PYTHONPATH": str(cases.ROOT / "python")},
                capture_output=True,
                text=True,
            )
            self.assertRegex(
                done.stderr.splitlines()[-1],
                r"^ImportError: feedrate.Loader needs numpy; run: pip install",
            )
            self.assertEqual(done.stderr.count("Traceback"), 1, done.stderr)


class ArgumentsTest(cases.Case):
    def test_texts_of_any_length_and_content(self):
        with self.assertRaises(FileNotFoundError) as raised:
            self.loader("x" * (1 << 20))
        self.assertRegex(str(raised.exception), "xxx .*characters left out")
        self.assertLess(len(str(raised.exception)), 3000)
        cases.write_jpegs(self.folder / "images", 2)
        with self.assertRaisesRegex(ValueError, r"images\\0x: .* zero byte"):
            self.loader(f"{self.folder}/images\0x")

    def test_arguments_are_named(self):
        source = self.array(10)
        for wrong, words in (
            ({"batch_size": 0}, "batch_size=0 .* from 1 on"),
            ({"batch_size": 2.5}, "batch_size=2.5 "),
            ({"batch_size": True}, "batch_size=True .* from 1 on"),
            ({"batch_size": 2**32 + 3}, "batch_size=4294967299 "),
            ({"crop": (8, 2**32 + 8)}, "crop=4294967304 .* 1 to 65535"),
            ({"workers": 2**31 - 1}, "workers=2147483647 .* 0 to 131072"),
            ({"prefetch": 2**32 + 1}, "prefetch=4294967297 "),
            ({"workers": -1}, "workers=-1 "),
            ({"rank": 2, "world_size": 2}, "rank=2 .* 0 to 1"),
            ({"tail": "cut"}, "tail='cut' .* keep or pad or drop"),
            ({"tail": "pad", "drop_last": True}, "drop_last=True "),
            ({"dtype": "float16"}, "dtype='float16' .* float32 or uint8"),
            ({"dtype": np.float64}, "dtype=.*float64.* float32 or uint8"),
            ({"output": "jax"}, "output='jax' "),
            ({"workers": 1, "num_workers": 2}, "num_workers=2 .* only one"),
            ({"crop": (8, 9, 3)}, r"crop=\(8, 9, 3\) .* \(height, width\)"),
            ({"crop": (8, 0)}, "crop=0 "),
            ({"mean": "much"}, "mean='much' .* per channel"),
            ({"std": 0}, "std=0 .* above 0"),
            ({"std": []}, "std=.*per channel"),
            ({"cache_dir": "x"}, "cache_dir='x' .* s3://"),
            ({"transforms": "Blurr"}, 'transforms: "Blurr" .* "Blur"'),
            ({"transforms": [("Blur", 2)]}, "transforms: .* from 0 to 1"),
            ({"transforms": [("Mixup", 0.5)]}, "transforms: .* alone"),
            ({"transforms": ["Blur", "CenterCrop224"]}, "must come first"),
            ({"transforms": "Mixup"}, "float32"),
            (
                {"transforms": "Mixup", "dtype": "float32"},
                "labels: .* pass labels",
            ),
            (
                {
                    "transforms": "Mixup",
                    "dtype": "float32",
                    "labels": [2**40] * 10,
                },
                "labels: .* classes is not possible",
            ),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.loader(source, **wrong)
        for wrong, words in (
            ({"flip": "yes"}, "flip='yes' .* True or False"),
            ({"flip": np.ones(2)}, "flip=array.* True or False"),
            ({"shuffle": None}, "shuffle=None .* True or False"),
            ({"index": 3}, "index=3 .* a path"),
            ({"transforms": [len]}, "transforms=.*len.* names of .*batch"),
            ({"transforms": len}, "transforms=.*len.* names of"),
            ({"transforms": [("Blur", 0.5), (len, 0.5)]}, "transforms=.*len"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                self.loader(source, **wrong)
        for none in (None, 5, [None], [source]):
            with self.assertRaisesRegex(TypeError, "source=.* a folder, .* s3"):
                self.loader(none)
        for array in (np.zeros((4, 8, 8), np.uint8), np.zeros((4, 8, 8, 3))):
            with self.assertRaisesRegex(ValueError, r"uint8 of \(N, H, W, C\)"):
                self.loader(array)
        for channels in (1, 3, 9):
            planes = np.zeros((4, channels, 20, 32), np.uint8)
            with self.assertRaisesRegex(ValueError, r"transpose\(0, 2, 3, 1\)"):
                self.loader(planes)
        with self.assertRaisesRegex(ValueError, "list is empty"):
            self.loader([])
        with self.assertRaisesRegex(FileNotFoundError, "missing"):
            self.loader(self.folder / "missing")
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(FileNotFoundError, "has no .jpg"):
            self.loader(self.folder / "empty")
        with self.assertRaisesRegex(ValueError, "shards and other files"):
            self.loader(["a.tar", "b.jpg"])

    def test_what_a_gpu_does_not_do_is_named(self):
        cases.write(self.folder / "a.npy", cases.image(0))
        for wrong, words in (
            ({"device": "gpu"}, 'device=.gpu. .*"cuda"'),
            ({"device": "cuda:x"}, "device='cuda:x' "),
            ({"device": "cpu", "nvjpeg": "off"}, "nvjpeg='off' .*cuda"),
            ({"nvjpeg": "on"}, "nvjpeg='on' .* hardware"),
            ({"output": "numpy"}, "output='numpy' .*dlpack"),
            ({"pin_memory": True}, "pin_memory=True "),
            ({"crop": (20, 30)}, r"crop=\(20, 30\) .*cpu"),
            ({"source": self.array(4)}, "source: .*local files .*cpu"),
            ({"source": "s3://bucket/x"}, "source: .*local files .*cpu"),
        ):
            given = {
                "source": self.folder,
                "device": "cuda",
                "dtype": "float32",
                "output": "dlpack",
                **wrong,
            }
            with self.assertRaisesRegex(ValueError, words):
                self.loader(given.pop("source"), **given)
        try:
            self.loader(
                self.folder, device="cuda", dtype="float32", output="dlpack"
            )
        except RuntimeError as error:
            # Without CUDA, or without a GPU; with both there is no error.
            self.assertRegex(
                str(error), '(built without CUDA|no GPU).* device="cpu"'
            )


if __name__ == "__main__":
    unittest.main()
