"""Images and tokens that say which item they are: what is read is right, and
what cannot be read is said to be so. Needs numpy and Pillow."""

import io
import pathlib
import random
import sys
import unittest

import numpy as np
from PIL import Image, ImageFilter

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/feedrate/_audit"))

import _feedrate_codes as codes  # noqa: E402

ITEMS = [item * 61 for item in range(64)]
MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])


def crop(image, size, chance):
    """A crop of 8% to all of the image, resized, perhaps flipped."""
    side = image.width
    share = chance.uniform(0.08, 1) ** 0.5
    width, height = (
        min(side, int(side * share * chance.uniform(0.87, 1.15)))
        for _ in range(2)
    )
    x = chance.randrange(side - width + 1)
    y = chance.randrange(side - height + 1)
    box = (x, y, x + width, y + height)
    image = image.resize((size, size), Image.Resampling.BILINEAR, box)
    if chance.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return image


class CodesTest(unittest.TestCase):
    def batch(self, augment, side=256):
        images = [
            augment(Image.open(io.BytesIO(codes.png_of(item, side))))
            for item in ITEMS
        ]
        return np.stack([np.asarray(image) for image in images])

    def check(self, batch, least=1.0):
        """At least that share is read, and nothing is read wrong."""
        read = codes.read(batch)
        wrong = [
            (item, found)
            for item, found in zip(ITEMS, read.items, strict=True)
            if found not in (item, -1)
        ]
        self.assertEqual(wrong, [])
        share = sum(found >= 0 for found in read.items) / len(ITEMS)
        self.assertGreaterEqual(share, least)
        return read

    def test_what_augmentation_keeps_is_read(self):
        chance = random.Random(1)
        crops = self.batch(lambda image: crop(image, 224, chance))
        self.check(crops)
        normalized = (crops / 255 - MEAN) / STD
        self.check(normalized)
        self.check(normalized.astype(np.float16))
        self.check(np.ascontiguousarray(normalized.transpose(0, 3, 1, 2)))
        self.check(normalized[..., ::-1])
        self.check(self.batch(lambda image: image.resize((96, 96))))
        self.check(self.batch(lambda image: image, side=32))
        self.check(self.batch(lambda image: image.rotate(20)))
        blur = ImageFilter.GaussianBlur(1.5)
        self.check(self.batch(lambda image: image.filter(blur)))

    def test_what_cannot_be_read_is_not_guessed(self):
        noise = np.random.default_rng(1).normal(size=(64, 3, 96, 96))
        self.assertEqual(set(codes.read(noise).items), {-1})
        self.check(np.zeros((64, 96, 96, 3)), least=0)
        gray = self.batch(lambda image: image.convert("L").convert("RGB"))
        self.assertEqual(set(codes.read(gray).items), {-1})
        plain = self.batch(lambda image: image).astype(np.float64)
        self.check(plain * 0.6 + plain[::-1] * 0.4, least=0)
        self.check(self.batch(lambda image: image.resize((24, 24))), least=0)

    def test_both_items_of_a_mixed_image_are_named(self):
        mixed = self.batch(lambda image: image)
        mixed[:, 40:150, 30:160] = mixed[::-1][:, 40:150, 30:160]
        read = self.check(mixed)
        self.assertEqual(read.seconds, ITEMS[::-1])

    def test_draws_tell_flips_and_not_items(self):
        plain = self.batch(lambda image: image)
        draws = np.array(codes.read(plain).draws)
        self.assertLess(np.ptp(draws, axis=0).max(), 12)
        flipped = np.array(codes.read(plain[:, :, ::-1]).draws)
        self.assertGreater(np.abs(flipped - draws).max(axis=1).min(), 12)

    def test_tokens(self):
        rows = [codes.tokens_of(item, 240) for item in ITEMS]
        self.assertEqual(codes.read_tokens(rows).items, ITEMS)
        # A part of a row, and two items in one.
        self.assertEqual(codes.read_tokens([rows[3][17:60]]).items, [ITEMS[3]])
        packed = codes.read_tokens([rows[1][:40] + rows[2][:40]])
        self.assertEqual(packed.items, ITEMS[1:3])
        self.assertEqual(
            codes.read_tokens([[126, 50, 50, 50, 50, 50]]).items, [-1]
        )
        self.assertTrue(bytes(rows[0]).decode().isprintable())


if __name__ == "__main__":
    unittest.main()
