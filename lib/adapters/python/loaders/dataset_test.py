"""Items of a loader: where they come from, and what becomes of bad ones."""

import io
import os
import tempfile
import types
import unittest

import numpy as np
from loaders import spec
from loaders.dataset import Failed, Items
from loaders.epoch import Stages
from loaders.source import (
    ItemError,
    array_of_npy,
    open_source,
    read_list,
    size_of,
)
from PIL import Image
from testing import loading, pictures, worker

EMPTY = np.zeros((31, 47, 3), np.uint8)
IMAGES = [np.full((4, 5, 3), i, np.uint8) for i in range(3)]


class Recipe:
    """Counts calls; an image of nines cannot be augmented."""

    library = types.SimpleNamespace(input_of=lambda array, layout: array)

    def __init__(self):
        self.decoded = self.called = 0

    def decode(self, data, path):
        self.decoded += 1
        if data == b"broken":
            raise ValueError("no image")
        return np.frombuffer(data, np.uint8)

    def from_array(self, array):
        return array

    def with_channels(self, image):
        return image

    def call(self, image):
        self.called += 1
        if image.flat[0] == 9:
            raise RuntimeError("too many nines")
        return image + 1


class ItemsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.recipe = Recipe()
        self.stages = Stages(1)

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def items(self, paths, **changes):
        fd = loading.write_list(paths)
        self.addCleanup(os.close, fd)
        parsed = spec.parse(loading.of_files(**changes))
        source = open_source("files", fd, self.recipe)
        return Items(source, self.recipe, parsed, self.stages)

    def test_files(self):
        items = self.items([self.file("a.jpg", b"\1\2"), self.file("b", b"\5")])
        self.assertEqual(len(items), 2)
        np.testing.assert_array_equal(items[0], [2, 3])
        np.testing.assert_array_equal(items[3], [6])  # Modulo their number.
        names = [stage["name"] for stage in self.stages.report()]
        self.assertEqual(names, ["read", "decode", "augment"])

    def test_arrays_need_no_decoder(self):
        path = os.path.join(self.folder, "a.npy")
        np.save(path, IMAGES[2])
        np.testing.assert_array_equal(self.items([path])[0], IMAGES[2] + 1)
        self.assertEqual(self.recipe.decoded, 0)

    def test_a_bad_file_is_named(self):
        bad = self.file("bad.jpg", b"broken")
        gone = os.path.join(self.folder, "gone.jpg")
        items = self.items([bad, gone])
        failed = items[0]
        self.assertIsInstance(failed, Failed)
        self.assertEqual(
            failed.named(),
            {"item": 0, "path": bad, "reason": "ValueError: no image"},
        )
        self.assertIn("No such file", items[1].reason)

    def test_or_fails(self):
        bad = self.file("bad.jpg", b"broken")
        items = self.items([bad], on_error="fail")
        with self.assertRaisesRegex(ItemError, f"item 0, {bad}: .*no image"):
            items[0]

    def test_a_transform_that_throws_always_fails(self):
        path = self.file("nines.jpg", b"\x09")
        items = self.items([path])
        with self.assertRaisesRegex(ItemError, f"{path}: .*too many nines"):
            items[0]

    def test_ablations(self):
        paths = [self.file(f"{i}.jpg", bytes([i])) for i in range(3)]
        items = self.items(paths, ablation="no_decode")
        self.assertEqual([items[i][0] for i in range(3)], [1, 1, 1])
        self.assertEqual((self.recipe.decoded, self.recipe.called), (1, 3))
        items = self.items(paths, ablation="no_augment")
        self.assertEqual([items[i][0] for i in range(3)], [1, 1, 1])
        self.assertEqual((self.recipe.decoded, self.recipe.called), (4, 4))
        items = self.items(paths, ablation="cached_batch")
        self.assertEqual([items[i] for i in range(3)], [0, 1, 2])
        self.assertEqual((self.recipe.decoded, self.recipe.called), (4, 4))


class SourceTest(unittest.TestCase):
    def test_corpus(self):
        fd = worker.write_corpus(IMAGES)
        source = open_source("corpus", fd, Recipe())
        os.close(fd)
        source.preload([1, 2])
        self.assertEqual(len(source), 3)
        np.testing.assert_array_equal(source.load(2, Stages(1)), IMAGES[2])

    def test_an_empty_list(self):
        fd = loading.write_list([])
        with self.assertRaisesRegex(ValueError, "empty"):
            read_list(fd)
        os.close(fd)

    def test_arrays(self):
        for array, text in [
            (np.zeros((3, 3, 3), np.float32), "float32"),
            (np.zeros((3, 3, 4), np.uint8), "not uint8 HWC"),
        ]:
            with self.assertRaisesRegex(ValueError, text):
                array_of_npy(npy(array))
        with self.assertRaises(ValueError):
            array_of_npy(b"no array")
        gray = array_of_npy(npy(np.full((2, 3), 7, np.uint8)))
        np.testing.assert_array_equal(gray, np.full((2, 3, 3), 7))


def npy(array):
    with tempfile.TemporaryFile() as file:
        np.save(file, array)
        file.seek(0)
        return file.read()


class ImageSizeTest(unittest.TestCase):
    def test_jpeg(self):
        for options in ({}, {"progressive": True}, {"comment": b"x" * 60000}):
            file = io.BytesIO()
            Image.fromarray(EMPTY).save(file, "JPEG", **options)
            self.assertEqual(size_of(file.getvalue()), (31, 47))

    def test_png(self):
        self.assertEqual(size_of(pictures.png(EMPTY)), (31, 47))

    def test_not_known(self):
        file = io.BytesIO()
        Image.fromarray(EMPTY).save(file, "JPEG")
        for data in (b"", b"\xff\xd8", file.getvalue()[:20], b"BM nothing"):
            self.assertIsNone(size_of(data))


if __name__ == "__main__":
    unittest.main()
