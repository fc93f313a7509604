"""SPDL's and WebDataset's loaders: files or shards, epochs, faults.

    <environment>/bin/python -m library_tests.loader_extras_test \
        --packages=ENV LIBRARY

dev/checks/python_loader_test.sh runs it.
"""

import argparse
import os
import pathlib
import signal
import sys
import tarfile
import tempfile
import unittest

import numpy as np
from testing import loading, worker
from testing.cells import photograph

SIZES = [(230, 275), (250, 240), (300, 226), (226, 300), (231, 233)]
FLAGS = None


class ExtrasTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = worker.Server(
            [FLAGS.library], flags=["--loader", f"--packages={FLAGS.packages}"]
        )
        if "hello" not in cls.server.hello:
            raise RuntimeError(f"the server said {cls.server.hello}")
        cls.images = [photograph(*size, i) for i, size in enumerate(SIZES)]

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.server.close()
        assert status == 0, errors

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.paths = []
        for i, image in enumerate(self.images):
            self.paths.append(self.folder / f"{i}.npy")
            np.save(self.paths[-1], image)

    def child(self, paths=None, **changes):
        """A child with files, or with two shards of them."""
        paths = paths or self.paths
        if FLAGS.library == "webdataset":
            changes["source"] = "shards"
            paths = self.shards(paths)
        fd = loading.write_list(paths)
        child = self.server.spawn(FLAGS.library, fd)
        os.close(fd)
        reply = child.ask(
            {
                "op": "prepare",
                "library": FLAGS.library,
                "native_op": "RandomHorizontalFlip",
                "params": ["p=1"],
                "device": "cpu",
                "loader": loading.of_files(**changes),
            }
        )
        self.assertNotIn("error", reply)
        return child

    def shards(self, paths):
        shards = []
        for number, some in enumerate((paths[:2], paths[2:])):
            shards.append(self.folder / f"{number}.tar")
            with tarfile.open(shards[-1], "w") as tar:
                for path in some:
                    tar.add(path, path.name)
        return shards

    def test_outputs(self):
        child = self.child(crop_position="center")
        outputs = child.outputs([4, 0, 2])
        for (output, _), i in zip(outputs, [4, 0, 2], strict=True):
            wanted = loading.flipped_center(self.images[i])
            np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)
        self.assertEqual(child.close()["status"], 0)

    def test_epochs(self):
        for workers in (0, 2):
            child = self.child(workers=workers, batch_size=2)
            for _ in range(2):
                reply = child.ask(loading.epoch(5))
                self.assertNotIn("error", reply)
                self.assertEqual((reply["items"], reply["batches"]), (5, 3))
                self.assertEqual(reply["bytes_out"], 5 * 3 * 224 * 224 * 4)
                self.assertGreater(reply["cpu_s"], 0)
            # Fewer than a batch; twice as many as there are.
            self.assertEqual(child.ask(loading.epoch(1))["items"], 1)
            self.assertEqual(child.ask(loading.epoch(10))["items"], 10)
            self.assertEqual(len(child.outputs([1])), 1)
            self.assertEqual(child.close()["status"], 0)

    def test_corrupt_files_are_named(self):
        bad = self.folder / "bad.jpg"
        bad.write_bytes(b"\xff\xd8\xff\xe0 no picture")
        child = self.child([*self.paths, bad])
        reply = child.ask(loading.epoch(6))
        self.assertEqual((reply["items"], reply["errors_total"]), (5, 1))
        self.assertEqual(reply["errors"][0]["item"], 5)
        self.assertIn("bad.jpg", reply["errors"][0]["path"])
        child.close()

    def test_or_stop_the_epoch(self):
        bad = self.folder / "bad.jpg"
        bad.write_bytes(b"nothing")
        child = self.child([*self.paths, bad], on_error="fail")
        for _ in range(2):
            self.assertIn("bad.jpg", child.ask(loading.epoch(6))["error"])
        child.close()

    def test_the_limit_stops_early(self):
        child = self.child()
        reply = child.ask(loading.epoch(10**6, limit_s=0.5))
        self.assertLess(reply["items"], 10**6)
        self.assertGreater(reply["items"], 0)
        self.assertEqual(child.ask(loading.epoch(5))["items"], 5)
        child.close()

    def test_killed(self):
        child = self.child()
        child.send(loading.epoch(10**6))
        os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(os.WTERMSIG(child.close()["status"]), signal.SIGKILL)


def parse_flags():
    global FLAGS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", required=True)
    parser.add_argument("library", choices=["spdl", "webdataset"])
    FLAGS, rest = parser.parse_known_args()
    return [sys.argv[0], *rest]


if __name__ == "__main__":
    unittest.main(argv=parse_flags())
