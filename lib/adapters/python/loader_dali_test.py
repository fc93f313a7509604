"""DALI's loader: files, epochs, faults.

    <environment>/bin/python loader_dali_test.py

dev/python_loader_test.sh runs it.
"""

import os
import pathlib
import signal
import tempfile
import unittest

import numpy as np
from testing import loading, worker
from testing.cells import photograph

SIZES = [(230, 275), (250, 240), (300, 226), (226, 300), (231, 233)]


class DaliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = worker.Server(["dali"], flags=["--loader"])
        cls.folder = tempfile.TemporaryDirectory()
        cls.images = [photograph(*size, i) for i, size in enumerate(SIZES)]
        cls.arrays, cls.pictures = [], []
        for i, image in enumerate(cls.images):
            stem = pathlib.Path(cls.folder.name) / str(i)
            cls.arrays.append(stem.with_suffix(".npy"))
            np.save(cls.arrays[-1], image)
            cls.pictures.append(stem.with_suffix(".ppm"))
            height, width, _ = image.shape
            head = f"P6 {width} {height} 255\n".encode()
            cls.pictures[-1].write_bytes(head + image.tobytes())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        cls.server.close()

    def prepare(self, fd, loader):
        child = self.server.spawn("dali", fd)
        os.close(fd)
        reply = child.ask(
            {
                "op": "prepare",
                "library": "dali",
                "native_op": "flip",
                "params": ["horizontal=1"],
                "device": "cpu",
                "loader": loader,
            }
        )
        return child, reply

    def child(self, paths=None, **changes):
        if paths is None:
            fd = worker.write_corpus(self.images)
            loader = loading.loader_object(**changes)
        else:
            fd = loading.write_list(paths)
            loader = loading.of_files(**changes)
        child, reply = self.prepare(fd, loader)
        self.assertNotIn("error", reply)
        return child

    def check_outputs(self, child):
        outputs = child.outputs(range(len(self.images)))
        for (output, _), image in zip(outputs, self.images, strict=True):
            wanted = loading.flipped_center(image)
            np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)

    def test_memory_and_files(self):
        for paths in (None, self.arrays, self.pictures):
            child = self.child(paths, crop_position="center")
            self.check_outputs(child)
            for first in (0, 0, 3):
                reply = child.ask(loading.epoch(7, first=first))
                self.assertEqual((reply["items"], reply["batches"]), (7, 2))
                self.assertEqual(reply["bytes_out"], 7 * 3 * 224 * 224 * 4)
                self.assertEqual(len(reply["samples_s"]), 2)
                self.assertGreater(reply["cpu_s"], 0)
            child.close()

    def test_decode_then_crop(self):
        child = self.child(
            self.pictures,
            crop_position="center",
            settings={"fused_decode": "false"},
        )
        self.check_outputs(child)
        child.close()

    def test_the_last_batch_may_be_dropped(self):
        child = self.child(drop_last=True)
        reply = child.ask(loading.epoch(7))
        self.assertEqual((reply["items"], reply["batches"]), (4, 1))
        child.close()

    def test_the_limit_stops_early_and_the_next_epoch_is_whole(self):
        child = self.child()
        reply = child.ask(loading.epoch(100000, limit_s=0.2))
        self.assertLess(reply["items"], 100000)
        self.assertEqual(child.ask(loading.epoch(9))["items"], 9)
        child.close()

    def test_a_corrupt_file_ends_the_epoch(self):
        bad = pathlib.Path(self.folder.name) / "bad.jpg"
        bad.write_bytes(b"\xff\xd8\xff\xe0 no picture")
        child = self.child([*self.pictures, bad])
        self.assertIn("bad.jpg", child.ask(loading.epoch(6))["error"])
        self.assertEqual(child.ask(loading.epoch(4))["items"], 4)
        child.close()

    def test_what_it_has_not(self):
        for changes, text in [
            ({"ablation": "no_decode"}, "no_decode"),
            ({"batch_transform": "mixup"}, "mixup"),
            ({"shuffle": True}, "shuffle"),
            ({"settings": {"read_ahead": "threads"}}, "no setting read_ahead"),
        ]:
            fd = worker.write_corpus(self.images)
            child, reply = self.prepare(fd, loading.loader_object(**changes))
            self.assertIn(text, reply["error"])
            child.close()

    def test_killed(self):
        child = self.child()
        child.send(loading.epoch(10**6))
        os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(os.WTERMSIG(child.close()["status"]), signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
