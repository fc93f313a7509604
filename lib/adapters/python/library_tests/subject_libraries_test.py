"""Subjects that are objects of libraries: each gets what it takes in training.

<environment>/bin/python -m library_tests.subject_libraries_test LIBRARY...
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np
from testing import worker

MODULES = {
    "albumentationsx": """
import albumentations as A

flips = {
    "compose": A.Compose([A.HorizontalFlip(p=1)]),
    "single": A.HorizontalFlip(p=1),
}
""",
    "torchvision": """
import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

class Erase(v2.Transform):
    def forward(self, image):
        image[:, :2] = 0
        return image.flip(-1)

flip = v2.RandomHorizontalFlip(p=1)
flips = {
    "compose": v2.Compose([flip]),
    "single": flip,
    "from_array": v2.Compose([v2.ToImage(), flip]),
    "from_pil": v2.Compose([v2.PILToTensor(), flip]),
    "old": v1.Compose([v1.RandomHorizontalFlip(p=1), v1.ToTensor()]),
    "writes": Erase(),
}

class Numbers(torch.utils.data.Dataset):
    def __init__(self, transform=None):
        self.transform = transform

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 6 and not self.transform:
            raise KeyError("six is missing")
        image = torch.full((3, 2, 2), float(index))
        return self.transform(image) if self.transform else image

def loader(workers, batch_size, persistent_workers):
    return torch.utils.data.DataLoader(
        Numbers(torch.neg), batch_size, num_workers=workers,
        persistent_workers=persistent_workers)

def breaks(workers, batch_size):
    return torch.utils.data.DataLoader(
        Numbers(), batch_size, num_workers=workers)

def spawned(workers, batch_size):
    return torch.utils.data.DataLoader(
        Numbers(torch.neg), batch_size, num_workers=workers,
        multiprocessing_context="spawn")

fixed = torch.utils.data.DataLoader(Numbers(torch.neg), 4, num_workers=1)
""",
    "kornia": """
import kornia.augmentation as K
import torch

flip = K.RandomHorizontalFlip(p=1.0)
flips = {
    "compose": K.AugmentationSequential(flip),
    "single": flip,
    "sequence": torch.nn.Sequential(flip),
}
""",
}
SPEC = {
    "scope": "decode_dataloader_augment",
    "source": "files",
    "mean": [0, 0, 0],
    "std": [1, 1, 1],
    "batch_size": 4,
    "workers": 2,
}
EPOCH = {"op": "epoch", "first": 0, "count": 8, "seed": 1}


class Base(unittest.TestCase):
    library = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "mine.py").write_text(MODULES[cls.library])
        # By name: each of them imports torch, which takes seconds.
        cls.servers = {}

    def server(self, name):
        if name not in self.servers:
            self.servers[name] = worker.Server(
                [],
                flags=[f"--subject=mine:{name}"],
                env=worker.ONE_THREAD,
                cwd=self.folder,
            )
            self.addClassCleanup(self.servers[name].close)
        return self.servers[name]

    def child(self, name, fd, **command):
        server = self.server(name)
        self.assertIn("hello", server.hello, server.hello)
        self.addCleanup(os.close, fd)
        child = server.spawn(f"mine:{name}", fd)
        self.addCleanup(child.close)
        command = {"native_op": "", "params": [], **command}
        reply = child.ask({"op": "prepare", "library": name, **command})
        self.assertNotIn("error", reply)
        return child


class FlipTest(Base):
    """The cases of a library all flip."""

    names = ()

    def test_flips(self):
        self.flips(self.names, (6, 5, 3))

    def test_flips_clips(self):
        self.flips(self.names[:CLIPS], (4, 6, 5, 3))

    def flips(self, names, shape):
        for name in names:
            with self.subTest(self.library, name=name):
                image = np.random.default_rng(1).integers(
                    0, 256, shape, np.uint8
                )
                fd = worker.write_corpus([image])
                child = self.child("flips", fd, native_op=name)
                expected = image[..., ::-1, :].copy()
                if name == "writes":
                    expected[:2] = 0
                for _ in range(2):
                    (output, layout), *_ = child.outputs([0])
                    if layout in ("CHW", "TCHW"):
                        output = np.moveaxis(output, -3, -1)
                    if output.dtype == np.float32:
                        output = np.rint(output * 255)
                    np.testing.assert_array_equal(output, expected)
                reply = child.ask({"op": "time", "first": 0, "count": 2})
                self.assertEqual(reply.get("items"), 2, reply)


class DataLoaderTest(Base):
    library = "torchvision"

    def loader(self, name, **fields):
        fd = os.memfd_create("list")
        os.write(fd, json.dumps({"path": "/photos/0.jpg"}).encode() + b"\n")
        return self.child(name, fd, loader={**SPEC, **fields})

    def test_stages_and_what_is_left_out(self):
        child = self.loader("loader")
        for _ in range(2):
            reply = child.ask(EPOCH)
            self.assertEqual((reply["items"], reply["batches"]), (8, 2), reply)
            stages = [stage["name"] for stage in reply["stages"]]
            self.assertEqual(stages, ["decode", "augment", "collate"])
        for ablation in ("cached_batch", "no_augment"):
            reply = self.loader("loader", ablation=ablation).ask(EPOCH)
            self.assertEqual(reply["items"], 8, reply)
        reply = self.loader("loader", ablation="no_decode").ask(EPOCH)
        self.assertIn("no attribute 'loader'", reply["error"])

    def test_persistent_workers_go_on(self):
        child = self.loader("loader", persistent=True)
        for _ in range(3):
            self.assertEqual(child.ask(EPOCH)["items"], 8)
        # An epoch that ends early leaves the next one whole.
        self.assertEqual(child.ask({**EPOCH, "count": 4})["items"], 4)
        self.assertEqual(child.ask(EPOCH)["items"], 8)

    def test_spawned_workers_run_unwatched(self):
        reply = self.loader("spawned").ask(EPOCH)
        self.assertEqual((reply["items"], reply["stages"]), (8, []), reply)

    def test_a_failure_in_a_worker_names_its_place(self):
        reply = self.loader("breaks").ask(EPOCH)
        line = (
            MODULES["torchvision"]
            .splitlines()
            .index('            raise KeyError("six is missing")')
        )
        self.assertIn("six is missing", reply["error"])
        self.assertIn(f"(mine.py:{line + 1})", reply["error"])

    def test_workers_are_those_of_the_job(self):
        reply = self.loader("fixed").ask(EPOCH)
        self.assertIn("it has 1 workers;", reply["error"])
        reply = self.loader("fixed", workers=1).ask(EPOCH)
        self.assertEqual(reply["items"], 8, reply)


# So many of the first cases take clips as well.
CLIPS = 2
CASES = {
    "albumentationsx": ("compose", "single"),
    "torchvision": (
        *("compose", "single", "from_array", "from_pil", "old", "writes"),
    ),
    "kornia": ("compose", "single", "sequence"),
}


def main(libraries):
    suite = unittest.TestSuite()
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    for library in libraries:
        names = {"library": library, "names": CASES[library]}
        suite.addTests(load(type(f"Flip_{library}", (FlipTest,), names)))
        if library == "torchvision":
            suite.addTests(load(DataLoaderTest))
    return not unittest.TextTestRunner().run(suite).wasSuccessful()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
