"""Subjects from the runner's side: real servers with modules of a user."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from testing import worker

# Names of ours on purpose: params and loaders.
PARAMS = "VALUE = 7\n"
LOADERS = "def shift(image):\n    return image + 1\n"
MINE = """
import params
import loaders
import numpy as np

def inplace(image):
    image[0] = params.VALUE
    return image

def fails(image):
    return image.missing

transforms = {
    "flip": lambda image: image[:, ::-1],
    "shift": loaders.shift,
    "inplace": inplace,
    "fails": fails,
    "wrapped": lambda image: {"image": image.astype(np.float64) / 255},
}

no_images = {
    "nothing": lambda image: None,
    "number": lambda image: image.mean(),
    "names": lambda image: ["a", "b"],
    "empty": lambda image: image[:0],
}

def make_loader(files, batch_size, seed):
    for first in range(0, len(files), batch_size):
        size = min(batch_size, len(files) - first)
        yield np.zeros((size, 3, 4, 4), np.float32), np.arange(size)

def fixed(files):
    return [np.zeros((2, 3, 4, 4))] * 2

def nothing(batch_size):
    return [[None] * batch_size] * 9

def numbers(batch_size):
    return [np.zeros(batch_size)] * 9

def images(dataset):
    return [[np.zeros((4, 4, 3))] * 4, [np.zeros((2, 2, 3))] * 2]

def wants_more(files, secret):
    return []

def breaks(files, batch_size):
    yield from make_loader(files[:batch_size], batch_size, 0)
    raise OSError("disk on fire")

def decode(path, frames):
    return np.full((len(frames), 2, 2, 3), len(path), np.uint8)

def mix(datasets, weights, batch_size, seed):
    while True:
        yield np.zeros((batch_size, 2)), ["b"] * (batch_size - 1) + [0]

def mix_blindly(datasets):
    while True:
        yield np.zeros((4, 2))
"""


def memory_file(*lines):
    fd = os.memfd_create("list")
    os.write(fd, "".join(json.dumps(line) + "\n" for line in lines).encode())
    return fd


LOADER = {
    "scope": "decode_dataloader_augment",
    "source": "files",
    "mean": [0, 0, 0],
    "std": [1, 1, 1],
    "batch_size": 4,
    "settings": {"dataset": "/photos"},
}
EPOCH = {"op": "epoch", "first": 0, "count": 6, "seed": 1}
FILES = [{"path": f"/photos/{i}.jpg"} for i in range(6)]


class SubjectTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (
            ("params", PARAMS),
            ("loaders", LOADERS),
            ("mine", MINE),
            ("broken", "import numpy\n1 / 0\n"),
            ("lacks", "import nothing_like_it\n"),
        ):
            (self.folder / f"{name}.py").write_text(text)

    def child(self, name, fd=None, **command):
        server = worker.Server(
            [],
            flags=[f"--subject=mine:{name}"],
            cwd=self.folder,
            env={"PYTHONPATH": str(self.folder)},
        )
        self.addCleanup(server.close)
        self.assertIn("hello", server.hello, server.hello)
        if fd is None:
            image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
            self.image = image
            fd = worker.write_corpus([image])
        self.addCleanup(os.close, fd)
        child = server.spawn(f"mine:{name}", fd)
        self.addCleanup(child.close)
        self.prepared = child.ask(
            {"op": "prepare", "library": f"mine:{name}", "params": []}
            | {"native_op": "", "seed": 1}
            | command
        )
        return child

    def loader(self, name, **fields):
        return self.child(
            name, memory_file(*FILES), loader={**LOADER, **fields}
        )

    def describe(self, name, mode="micro"):
        done = subprocess.run(
            [
                *(sys.executable, "-B", worker.PYTHON_FOLDER / "server.py"),
                *(f"--subject={name}", f"--describe={mode}"),
            ],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
        )
        return done.stdout.split()

    def problem(self, name, mode="micro"):
        words = " ".join(self.describe(name, mode))
        self.assertTrue(words.startswith("feedrate:problem="), words)
        return words

    def test_transforms_see_their_own_modules(self):
        child = self.child("transforms", native_op="shift")
        self.assertNotIn("error", self.prepared)
        self.assertEqual(len(self.prepared["version"]), 12)
        reply = child.ask({"op": "time", "first": 0, "count": 3, "seed": 7})
        self.assertEqual(reply["items"], 3)
        (output, layout), *_ = child.outputs([0])
        self.assertEqual(layout, "HWC")
        np.testing.assert_array_equal(output, self.image + 1)

    def test_one_that_writes_gets_copies(self):
        child = self.child("transforms", native_op="inplace")
        for _ in range(2):
            (output, _), *_ = child.outputs([0])
            np.testing.assert_array_equal(output[0], np.full((4, 3), 7))
            np.testing.assert_array_equal(output[1:], self.image[1:])

    def test_outputs_may_be_wrapped_and_wide(self):
        child = self.child("transforms", native_op="wrapped")
        (output, _), *_ = child.outputs([0])
        self.assertEqual(output.dtype, np.float32)
        np.testing.assert_allclose(output, self.image / 255, atol=1e-6)

    def test_what_returns_no_image_fails(self):
        for name, found in (
            ("nothing", "NoneType"),
            ("number", "float32 of shape (1,)"),
            ("names", "<U1 of shape (2,)"),
            ("empty", "uint8 of shape (0, 4, 3)"),
        ):
            self.child("no_images", native_op=name)
            self.assertIn(
                f"the transform returns no image but {found}; return",
                self.prepared.get("error", ""),
            )

    def test_a_failure_names_its_place(self):
        self.child("transforms", native_op="fails")
        self.assertIn(
            "object has no attribute 'missing'", self.prepared["error"]
        )
        line = MINE.splitlines().index("    return image.missing") + 1
        self.assertIn(f"(mine.py:{line})", self.prepared["error"])

    def test_an_edit_is_another_version(self):
        self.child("transforms", native_op="flip")
        before = self.prepared["version"]
        with (self.folder / "mine.py").open("a") as file:
            file.write("# More.\n")
        self.child("transforms", native_op="flip")
        self.assertNotEqual(self.prepared["version"], before)

    def test_description(self):
        self.assertEqual(
            self.describe("mine:transforms"),
            [
                f"feedrate:transform={name}"
                for name in ("flip", "shift", "inplace", "fails", "wrapped")
            ]
            + ["feedrate:done"],
        )
        self.assertEqual(
            self.describe("mine:inplace")[0], "feedrate:transform=inplace"
        )
        self.assertEqual(
            self.describe("mine:make_loader", "pipeline"), ["feedrate:done"]
        )

    def test_bad_names_say_what_would_be_right(self):
        self.assertIn("no module nope; run this", self.problem("nope:x"))
        self.assertIn(
            "did you mean transforms?", self.problem("mine:transform")
        )
        self.assertIn("is a module; micro needs", self.problem("mine:np"))
        self.assertIn("is a int; micro needs", self.problem("params:VALUE"))
        self.assertIn(
            "ZeroDivisionError: division by zero", self.problem("broken:x")
        )
        self.assertIn("broken.py:2)", self.problem("broken:x"))
        self.assertIn("lacks needs nothing_like_it", self.problem("lacks:x"))

    def test_a_generator_is_read_epoch_by_epoch(self):
        child = self.loader("make_loader")
        for _ in range(2):
            reply = child.ask(EPOCH)
            self.assertEqual((reply["items"], reply["batches"]), (6, 2), reply)
            self.assertEqual(reply["bytes_out"], 6 * (3 * 4 * 4 * 4 + 8))
            self.assertEqual(len(reply["samples_s"]), 2)

    def test_lists_of_images_are_batches(self):
        reply = self.loader("images").ask(EPOCH)
        self.assertEqual((reply["items"], reply["batches"]), (6, 2), reply)

    def test_a_loader_must_do_what_the_job_says(self):
        for name, fields, words in (
            (
                "fixed",
                {},
                "a batch has 2 items; take the argument `batch_size`",
            ),
            ("fixed", {"workers": 2}, "takes no argument `workers`"),
            (
                "make_loader",
                {"settings": {"access": "mmap"}},
                "it takes no argument 'access'",
            ),
            ("wants_more", {}, "it needs an argument 'secret'"),
            ("nothing", {}, "a batch is a list without arrays"),
            ("numbers", {}, "a batch has numbers, but no images"),
            ("make_loader", {"ablation": "no_decode"}, "only parts of a DataL"),
            ("breaks", {}, "OSError: disk on fire (mine.py:"),
        ):
            with self.subTest(name=name, **fields):
                reply = self.loader(name, **fields).ask(EPOCH)
                self.assertIn(words, reply["error"])

    def test_a_decoder(self):
        fd = memory_file({"path": "a.mp4", "frames": [0, 2, 4]})
        child = self.child("decode", fd, decode={"threads": 1})
        (output, layout), *_ = child.outputs([0])
        self.assertEqual((output.shape, layout), ((3, 2, 2, 3), "THWC"))
        self.assertEqual(output.flat[0], len("a.mp4"))

    def mixture(self, name):
        fd = memory_file(
            {"name": "a", "weight": 1, "shards": ["a/0"]},
            {"name": "b", "weight": 2, "shards": ["b/0"]},
        )
        return self.child(name, fd, mixture={"batch_size": 4})

    def test_a_mixture_says_where_items_come_from(self):
        child = self.mixture("mix")
        reply = child.ask({**EPOCH, "count": 8})
        self.assertEqual(reply["counts"], [[0, 1, 1, 3]] * 2, reply)
        self.assertIn("teardown_s", child.ask({"op": "stop"}))
        reply = self.mixture("mix_blindly").ask(EPOCH)
        self.assertIn("says where its items come from", reply["error"])


if __name__ == "__main__":
    unittest.main()
