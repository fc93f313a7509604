"""Loader jobs of torch's DataLoader: files, faults, options, abrupt ends.

    <environment>/bin/python -m library_tests.loader_test \
        [--packages=ENV] LIBRARY

Needs torch; dev/checks/python_loader_test.sh runs it.
"""

import argparse
import glob
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import numpy as np
from testing import loading, pictures, worker
from testing.cells import LAYOUTS, inputs_of, photograph

SIZES = [(230, 275), (250, 240), (300, 226), (226, 300), (231, 233)]
FLIPS = {
    "albumentationsx": ("HorizontalFlip", ["p=1"]),
    "torchvision": ("RandomHorizontalFlip", ["p=1"]),
    "kornia": ("RandomHorizontalFlip", ["p=1"]),
    "pillow": ("ImageOps.mirror", []),
}
FLAGS = None
SERVER = None


def start_server():
    packages = [f"--packages={FLAGS.packages}"] if FLAGS.packages else []
    server = worker.Server([FLAGS.library], flags=["--loader", *packages])
    if "hello" not in server.hello:
        raise RuntimeError(f"the server said {server.hello}")
    return server


def setUpModule():
    global SERVER
    SERVER = start_server()


def tearDownModule():
    status, errors = SERVER.close()
    assert status == 0, errors


def workers_of(pid):
    """Processes whose parent is pid."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("waited in vain")


class LoaderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.images = [photograph(*size, i) for i, size in enumerate(SIZES)]
        cls.paths = []
        for i, image in enumerate(cls.images):
            cls.paths.append(pathlib.Path(cls.folder.name) / f"{i}.npy")
            np.save(cls.paths[-1], image)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def child(self, fd, loader, native_op=None, params=(), server=None):
        if native_op is None:
            native_op, params = FLIPS[FLAGS.library]
        child = (server or SERVER).spawn(FLAGS.library, fd)
        os.close(fd)
        reply = child.ask(
            {
                "op": "prepare",
                "library": FLAGS.library,
                "transform": "HorizontalFlip",
                "native_op": native_op,
                "params": list(params),
                "device": "cpu",
                "seed": 1,
                "loader": loader,
            }
        )
        self.assertNotIn("error", reply)
        return child

    def of_files(self, paths=None, **changes):
        fd = loading.write_list(paths or self.paths)
        return self.child(fd, loading.of_files(**changes))

    def of_memory(self, **changes):
        inputs = inputs_of(FLAGS.library, 3, SIZES)
        layout = LAYOUTS.get(FLAGS.library, "HWC")
        corpus = worker.write_corpus(inputs, layout)
        return self.child(corpus, loading.loader_object(**changes))

    def ask(self, child, command):
        reply = child.ask(command)
        self.assertIsNotNone(reply)
        self.assertNotIn("error", reply)
        return reply

    def write(self, name, data):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(data)
        return path

    def check_outputs(self, child, images):
        outputs = child.outputs(range(len(images)))
        for (output, _), image in zip(outputs, images, strict=True):
            wanted = loading.flipped_center(image)
            np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)

    def test_arrays_from_files(self):
        child = self.of_files(crop_position="center")
        self.check_outputs(child, self.images)
        reply = self.ask(child, loading.epoch(5))
        self.assertEqual((reply["items"], reply["batches"]), (5, 2))
        self.assertEqual(reply["bytes_out"], 5 * 3 * 224 * 224 * 4)
        stages = {stage["name"]: stage["busy_s"] for stage in reply["stages"]}
        self.assertEqual(
            sorted(stages), ["augment", "collate", "decode", "read"]
        )
        self.assertGreaterEqual(reply["elapsed_s"], reply["first_batch_s"])
        self.assertGreater(reply["first_batch_s"], reply["startup_s"])
        self.assertEqual(child.close()["status"], 0)

    def test_pictures_from_files(self):
        paths = []
        for i, image in enumerate(self.images):
            paths.append(self.write(f"{i}.png", pictures.png(image)))
            paths.append(self.write(f"{i}.bmp", pictures.bmp(image)))
        child = self.of_files(paths, crop_position="center")
        images = [image for image in self.images for _ in range(2)]
        self.check_outputs(child, images)
        child.close()

    def test_epochs_one_after_the_other(self):
        child = self.of_memory()
        for first in (0, 3, 11):
            reply = self.ask(child, loading.epoch(7, first=first))
            self.assertEqual((reply["items"], reply["batches"]), (7, 2))
            self.assertEqual(workers_of(child.pid), [])
        self.assertEqual(child.close()["status"], 0)

    def test_persistent_workers_stay(self):
        child = self.of_memory(persistent=True)
        self.ask(child, loading.epoch(5))
        workers = workers_of(child.pid)
        self.assertEqual(len(workers), 2)
        reply = self.ask(child, loading.epoch(9, first=2))
        self.assertEqual(reply["items"], 9)
        self.assertEqual(workers_of(child.pid), workers)
        self.assertEqual(child.close()["status"], 0)
        wait_for(lambda: not any(map(alive, workers)))

    def test_without_workers(self):
        child = self.of_memory(workers=0)
        reply = self.ask(child, loading.epoch(6))
        self.assertEqual((reply["items"], reply["batches"]), (6, 2))
        child.close()

    def test_the_last_batch_may_be_dropped(self):
        child = self.of_memory(drop_last=True)
        reply = self.ask(child, loading.epoch(6))
        self.assertEqual((reply["items"], reply["batches"]), (4, 1))
        child.close()

    def test_mixed_batches(self):
        for name, native_op in (("mixup", "MixUp"), ("cutmix", "CutMix")):
            child = self.child(
                loading.write_list(self.paths),
                loading.of_files(batch_transform=name),
                native_op,
                ["alpha=0.8"],
            )
            self.assertEqual(self.ask(child, loading.epoch(5))["items"], 5)
            child.close()

    def test_ablations(self):
        for name in ("no_decode", "no_augment", "cached_batch"):
            child = self.of_files(ablation=name)
            reply = self.ask(child, loading.epoch(6))
            self.assertEqual(reply["bytes_out"], 6 * 3 * 224 * 224 * 4)
            child.close()

    def test_the_batch_is_copied(self):
        child = self.of_files(scope="decode_dataloader_augment_batch_copy")
        for _ in range(2):
            reply = self.ask(child, loading.epoch(6))
            self.assertIn("copy", [s["name"] for s in reply["stages"]])
            self.assertNotIn("sync_s", reply, "no GPU was waited for")
        child.close()

    def test_a_training_step(self):
        child = self.of_memory()
        reply = self.ask(child, loading.epoch(8, consumer_s=0.1))
        self.assertGreaterEqual(reply["consumer_s"], 0.2)
        self.assertGreaterEqual(reply["elapsed_s"], reply["consumer_s"])
        child.close()

    def test_corrupt_files_are_named(self):
        bad = [
            self.write("bad.jpg", b"\xff\xd8\xff\xe0 no picture"),
            self.write("empty.png", b""),
            self.write("bad.npy", b"\x93NUMPY garbage"),
            pathlib.Path(self.folder.name) / "gone.jpg",
        ]
        paths = [self.paths[0], *bad, *self.paths[1:]]
        child = self.of_files(paths)
        reply = self.ask(child, loading.epoch(len(paths)))
        self.assertEqual((reply["items"], reply["errors_total"]), (5, 4))
        named = {error["item"]: error["path"] for error in reply["errors"]}
        self.assertEqual(named, {i + 1: str(p) for i, p in enumerate(bad)})
        self.assertTrue(all(error["reason"] for error in reply["errors"]))
        child.close()

    def test_only_corrupt_files(self):
        child = self.of_files([self.write("bad.jpg", b"nothing")])
        reply = self.ask(child, loading.epoch(6))
        self.assertEqual((reply["items"], reply["errors_total"]), (0, 6))
        child.close()

    def test_or_stop_the_epoch(self):
        bad = self.write("bad.jpg", b"nothing")
        child = self.of_files([*self.paths, bad], on_error="fail")
        for _ in range(2):
            reply = child.ask(loading.epoch(6))
            self.assertIn(f"item 5, {bad}", reply["error"])
            self.assertEqual(workers_of(child.pid), [])
        self.assertEqual(self.ask(child, loading.epoch(5))["items"], 5)
        child.close()

    def test_a_killed_worker_ends_the_epoch(self):
        child = self.of_memory()
        child.send(loading.epoch(100000))
        workers = wait_for(lambda: workers_of(child.pid))
        os.kill(workers[0], signal.SIGKILL)
        reply = child.ask(b"")
        self.assertRegex(reply["error"], "worker.*(killed|exited)")
        self.assertEqual(self.ask(child, loading.epoch(5))["items"], 5)
        child.close()

    def test_the_limit_stops_early(self):
        child = self.of_memory()
        reply = self.ask(child, loading.epoch(1000000, limit_s=0.5))
        self.assertLess(reply["items"], 1000000)
        self.assertGreater(reply["items"], 0)
        self.assertEqual(workers_of(child.pid), [])
        child.close()

    def test_nothing_is_left_of_a_killed_child(self):
        before = set(os.listdir("/tmp"))
        for i in range(4):
            child = self.of_memory(workers=3)
            child.send(loading.epoch(1000000))
            workers = wait_for(
                lambda pid=child.pid: (
                    len(workers_of(pid)) == 3 and workers_of(pid)
                )
            )
            time.sleep(0.3 + 0.05 * i)  # In the middle of it.
            os.kill(child.pid, signal.SIGKILL)
            child.close()
            wait_for(lambda w=workers: not any(map(alive, w)))
            for pid in workers:
                self.assertEqual(glob.glob(f"/dev/shm/torch_{pid}_*"), [])
        new = set(os.listdir("/tmp")) - before
        self.assertEqual([n for n in new if n.startswith("pymp-")], [])

    def test_workers_die_with_the_server(self):
        server = start_server()
        fd = loading.write_list(self.paths)
        child = self.child(fd, loading.of_files(), server=server)
        child.send(loading.epoch(1000000))
        workers = wait_for(lambda: workers_of(child.pid))
        server.process.kill()
        server.process.wait()
        self.assertEqual(child.read_rest(), b"")
        wait_for(lambda: not any(map(alive, workers)))
        server.close()

    def test_a_child_that_computed_forks_no_workers(self):
        child = self.of_memory(workers=0)
        self.ask(child, loading.epoch(2))
        native_op, params = FLIPS[FLAGS.library]
        self.ask(
            child,
            {
                "op": "prepare",
                "library": FLAGS.library,
                "native_op": native_op,
                "params": params,
                "loader": loading.loader_object(workers=2),
            },
        )
        reply = child.ask(loading.epoch(2))
        self.assertIn("may hang", reply["error"])
        child.close()

    def test_without_a_loader(self):
        fd = loading.write_list(self.paths)
        child = SERVER.spawn(FLAGS.library, fd)
        os.close(fd)
        self.assertIn("no loader", child.ask(loading.epoch(1))["error"])
        child.close()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def parse_flags():
    global FLAGS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", help="the environment with torch")
    parser.add_argument("library")
    FLAGS, rest = parser.parse_known_args()
    return [sys.argv[0], *rest]


if __name__ == "__main__":
    unittest.main(argv=parse_flags())
