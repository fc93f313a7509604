"""Sizes of images from their headers."""

import io
import unittest

import numpy as np
from loaders.image_size import size_of
from PIL import Image
from testing import pictures

IMAGE = np.zeros((31, 47, 3), np.uint8)


class ImageSizeTest(unittest.TestCase):
    def test_jpeg(self):
        for options in ({}, {"progressive": True}, {"comment": b"x" * 60000}):
            file = io.BytesIO()
            Image.fromarray(IMAGE).save(file, "JPEG", **options)
            self.assertEqual(size_of(file.getvalue()), (31, 47))

    def test_png(self):
        self.assertEqual(size_of(pictures.png(IMAGE)), (31, 47))

    def test_not_known(self):
        file = io.BytesIO()
        Image.fromarray(IMAGE).save(file, "JPEG")
        for data in (b"", b"\xff\xd8", file.getvalue()[:20], b"BM nothing"):
            self.assertIsNone(size_of(data))


if __name__ == "__main__":
    unittest.main()
