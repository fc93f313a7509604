"""Windows of PIL images."""

import unittest

import numpy as np
from library_support import pillow_crops
from params import generator
from PIL import Image

ARRAY = np.random.default_rng(5).integers(1, 256, (40, 60, 3), dtype=np.uint8)
IMAGE = Image.fromarray(ARRAY)


class CropsTest(unittest.TestCase):
    def setUp(self):
        generator.seed(3)

    def test_center(self):
        window = np.asarray(pillow_crops.center_crop(IMAGE, (30, 21)))
        np.testing.assert_array_equal(window, ARRAY[9:30, 15:45])

    def test_center_of_a_smaller_image(self):
        window = np.asarray(pillow_crops.center_crop(IMAGE, (61, 44)))
        self.assertEqual(window.shape, (44, 61, 3))
        np.testing.assert_array_equal(window[2:42, :60], ARRAY)
        self.assertEqual(window[:2].sum() + window[42:].sum(), 0)
        self.assertEqual(window[:, 60:].sum(), 0)

    def test_random_windows_are_everywhere(self):
        places = set()
        for _ in range(400):
            window = np.asarray(pillow_crops.random_crop(IMAGE, (58, 39)))
            found = [
                (y, x)
                for y in range(2)
                for x in range(3)
                if np.array_equal(window, ARRAY[y : y + 39, x : x + 58])
            ]
            self.assertEqual(len(found), 1)
            places.update(found)
        self.assertEqual(len(places), 6)

    def resized(self, image, **changes):
        arguments = {
            "size": (24, 16),
            "scale": (0.08, 1.0),
            "ratio": (0.75, 1.33),
            "tries": 10,
            "resample": Image.Resampling.BILINEAR,
        }
        return pillow_crops.random_resized_crop(image, **arguments | changes)

    def test_resized(self):
        first, second = self.resized(IMAGE), self.resized(IMAGE)
        self.assertEqual(first.size, (24, 16))
        self.assertFalse(np.array_equal(first, second))
        generator.seed(3)
        self.assertTrue(np.array_equal(first, self.resized(IMAGE)))

    def test_no_window_fits(self):
        strip = IMAGE.resize((60, 4))
        window = self.resized(strip, scale=(1.0, 1.0), size=(5, 4))
        # As wide as the largest aspect allows, in the middle.
        expected = strip.crop((27, 0, 32, 4)).resize(
            (5, 4), Image.Resampling.BILINEAR
        )
        np.testing.assert_array_equal(np.asarray(window), np.asarray(expected))


if __name__ == "__main__":
    unittest.main()
