"""Batches that feed.py puts into shared memory: needs the loader's environment.

<environment>/bin/python -m library_tests.feed_test torchvision|dali
"""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent.parent
LOADER = sys.argv.pop(1) if len(sys.argv) > 1 else "torchvision"
SIDE, BATCH, SLOTS = 16, 3, 2
MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])


def write_image(path, gray, width=24, height=20):
    """A PNG of one gray, by hand: not every environment has an encoder."""

    def chunk(kind, data):
        whole = kind + data
        return (
            struct.pack(">I", len(data))
            + whole
            + struct.pack(">I", zlib.crc32(whole))
        )

    rows = (b"\0" + bytes([gray]) * 3 * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class Feeder:
    """A training's side of the protocol."""

    def __init__(self, paths, **changes):
        self.files = self.memory_file()
        for path in paths:
            line = json.dumps({"path": str(path), "bytes": 1}) + "\n"
            os.write(self.files, line.encode())
        size = 4 * SLOTS * BATCH * 3 * SIDE * SIDE
        self.memory = self.memory_file()
        os.truncate(self.memory, size + 8 * SLOTS * BATCH)
        self.size = size
        ours, theirs = socket.socketpair()
        words = {
            "loader": LOADER,
            "files": f"/proc/{os.getpid()}/fd/{self.files}",
            "memory": f"/proc/{os.getpid()}/fd/{self.memory}",
            "slots": SLOTS,
            "batch_size": BATCH,
            "image_size": SIDE,
            "workers": 1,
        } | changes
        # Descriptor 3 is where feed.py talks.
        self.process = subprocess.Popen(
            [
                "/bin/sh",
                "-c",
                f'exec 3<&{theirs.fileno()}; exec "$@"',
                "sh",
                sys.executable,
                "-B",
                str(HERE / "feed.py"),
                *(f"{name}={value}" for name, value in words.items()),
            ],
            pass_fds=[theirs.fileno()],
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self.socket = ours
        self.lines = ours.makefile("r")

    @staticmethod
    def memory_file():
        return os.memfd_create("test")

    def say(self, slot):
        self.socket.sendall(f"{slot}\n".encode())

    def slot(self, number):
        whole = np.memmap(
            f"/proc/self/fd/{self.memory}", np.uint8, mode="r"
        ).tobytes()
        images = np.frombuffer(whole[: self.size], np.float32)
        numbers = np.frombuffer(whole[self.size :], np.int64)
        return (
            images.reshape(SLOTS, BATCH, 3, SIDE, SIDE)[number],
            numbers.reshape(SLOTS, BATCH)[number],
        )

    def close(self):
        self.lines.close()
        self.socket.close()
        self.process.wait(timeout=120)
        self.process.stderr.close()
        os.close(self.files)
        os.close(self.memory)


class FeedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def feeder(self, paths, **changes):
        feeder = Feeder(paths, **changes)
        self.addCleanup(feeder.close)
        return feeder

    def images(self, count):
        paths = [self.folder / f"{i}.png" for i in range(count)]
        for i, path in enumerate(paths):
            write_image(path, 40 * i)
        return paths

    def test_batches_are_images_with_their_numbers(self):
        feeder = self.feeder(self.images(6))
        seen = []
        for _ in range(4):
            slot = int(feeder.lines.readline().removeprefix("slot "))
            images, numbers = feeder.slot(slot)
            for image, number in zip(images, numbers, strict=True):
                gray = image.mean(axis=(1, 2)) * STD + MEAN
                np.testing.assert_allclose(
                    gray, [40 * number / 255] * 3, atol=0.005
                )
            seen.append(set(numbers.tolist()))
            feeder.say(slot)
        # Two batches are one epoch: every image once.
        self.assertEqual(seen[0] | seen[1], set(range(6)))
        self.assertEqual(seen[2] | seen[3], set(range(6)))

    def test_steps_of_a_recipe_follow_the_crop(self):
        steps = {
            "torchvision": {
                "recipe.step1": "RandomSolarize{threshold=0;p=1} | "
                "RandomSolarize{threshold=0;p=1}",
                "recipe.step2": "0.5 Grayscale{num_output_channels=3}",
            },
            "dali": {
                "recipe.step1": "solarize{threshold=0} | solarize{threshold=0}",
                "recipe.step2": "0.5 saturation{saturation=0.0}",
            },
        }[LOADER]
        feeder = self.feeder(self.images(4), **steps)
        self.assertEqual(feeder.lines.readline(), "slot 0\n")
        for image, number in zip(*feeder.slot(0), strict=True):
            gray = image.mean(axis=(1, 2)) * STD + MEAN
            np.testing.assert_allclose(
                gray, [(255 - 40 * number) / 255] * 3, atol=0.005
            )

    @unittest.skipIf(LOADER != "dali", "only DALI decodes both ways")
    def test_the_decoder_crops_if_it_can(self):
        large = self.images(3)
        # Lower than the crop.
        small = self.folder / "small.png"
        write_image(small, 0, height=SIDE - 1)
        for fused, answer in (("", "slot 0"), ("0", "slot 0"), ("1", "error ")):
            words = {"fused_decode": fused} if fused else {}
            for paths, expected in (
                (large, "slot 0"),
                ([*large[:2], small], answer),
            ):
                with self.subTest(fused=fused, paths=paths):
                    feeder = Feeder(paths, **words)
                    line = feeder.lines.readline()
                    feeder.close()
                    self.assertTrue(line.startswith(expected), line)

    def test_a_full_memory_waits(self):
        feeder = self.feeder(self.images(6))
        for _ in range(SLOTS):
            feeder.lines.readline()
        feeder.socket.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            feeder.socket.recv(1)
        feeder.socket.settimeout(None)

    def test_what_cannot_be_read_is_named(self):
        paths = self.images(3)
        paths[1].write_bytes(b"no image")
        line = self.feeder(paths).lines.readline()
        self.assertTrue(line.startswith("error "), line)

    def test_too_few_images(self):
        line = self.feeder(self.images(2)).lines.readline()
        self.assertEqual(line, "error ValueError: 2 images for a batch of 3\n")

    def test_an_unknown_loader(self):
        line = self.feeder(self.images(3), loader="magic").lines.readline()
        self.assertIn('no loader "magic"', line)


if __name__ == "__main__":
    unittest.main()
