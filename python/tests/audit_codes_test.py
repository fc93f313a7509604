"""Images and tokens that say which item they are: what is read is right, and
what cannot be read is said to be so. Needs numpy and Pillow."""

import io
import pathlib
import random
import sys
import unittest

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter

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
            for item, found in zip(ITEMS, read.items, strict=False)
            if found not in (item, -1)
        ]
        self.assertEqual(wrong, [])
        share = sum(found >= 0 for found in read.items) / len(batch)
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
        plain = self.batch(lambda image: image).astype(np.float64)[:6]
        three = (plain + plain[[1, 2, 3, 4, 5, 0]]) / 3
        three += plain[[2, 3, 4, 5, 0, 1]] / 3
        self.assertEqual(set(codes.read(three).items), {-1})
        self.check(self.batch(lambda image: image.resize((24, 24))), least=0)

    def test_both_items_of_a_mixed_image_are_named(self):
        mixed = self.batch(lambda image: image)
        mixed[:, 40:150, 30:160] = mixed[::-1][:, 40:150, 30:160]
        read = self.check(mixed)
        self.assertEqual(read.seconds, ITEMS[::-1])

    def test_both_items_of_mixup_are_named(self):
        plain = self.batch(lambda image: image).astype(np.float32)
        chance = random.Random(2)
        crops = self.batch(lambda image: crop(image, 224, chance))
        for images, least in ((plain, 8), (crops.astype(np.float32), 5)):
            for share in (0.8, 0.63):
                mixed = images * share + images[::-1] * (1 - share)
                read = codes.read(mixed[:8])
                pairs = list(zip(read.items, read.seconds, strict=True))
                right = list(zip(ITEMS, ITEMS[::-1], strict=True))[:8]
                self.assertLessEqual(set(pairs) - {(-1, -1)}, set(right))
                self.assertGreaterEqual(len(set(pairs) & set(right)), least)

    def test_what_is_copied_from_a_device_once_is_read_alike(self):
        chance = random.Random(1)
        crops = self.batch(lambda image: crop(image, 224, chance))
        images = ((crops / 255 - MEAN) / STD).transpose(0, 3, 1, 2)
        places = codes.device_places(224, 224)

        def read(images):
            pixels = images.reshape(*images.shape[:2], -1)[:, :, places]
            return codes.read_device(pixels.astype(np.float16))

        found = read(images)
        self.assertEqual(found.items, ITEMS)
        draws = np.array(found.draws) - codes.read(images).draws
        self.assertLessEqual(np.abs(draws).max(), 12)
        mixed = images.copy()
        mixed[:, :, 40:150, 30:160] = images[::-1, :, 40:150, 30:160]
        plain = self.batch(lambda image: image.crop((0, 0, 224, 224)))
        plain = plain.transpose(0, 3, 1, 2).astype(np.float32)
        over = (plain * 0.7 + plain[::-1] * 0.3)[:8]
        right = set(zip(ITEMS, ITEMS[::-1], strict=True))
        for batch, least in ((mixed, 55), (over, 7)):
            found = read(batch)
            pairs = set(zip(found.items, found.seconds, strict=True))
            self.assertGreaterEqual(len(pairs & right), least)

    def test_an_image_that_lies_on_itself_shows_one_item(self):
        def lay(image):
            turned = image.transpose(Image.Transpose.ROTATE_90)
            return Image.blend(image, turned, 0.3)

        read = self.check(self.batch(lay)[:8], least=0.5)
        self.assertEqual(set(read.seconds), {-1})

    def test_changes_of_color_are_read(self):
        chance = random.Random(4)

        def change(kind, image, least=0.6, most=1.4):
            return kind(image).enhance(chance.uniform(least, most))

        for kind in (ImageEnhance.Brightness, ImageEnhance.Contrast):
            self.check(self.batch(lambda i, kind=kind: change(kind, i)))
        # What is cut off cannot be read.
        colors = self.batch(lambda i: change(ImageEnhance.Color, i))[:24]
        self.check(colors, least=0.8)

        def hue(image):
            hue, saturation, value = image.convert("HSV").split()
            by = chance.randrange(256)
            hue = hue.point(lambda h: (h + by) % 256)
            turned = Image.merge("HSV", (hue, saturation, value))
            return turned.convert("RGB")

        self.check(self.batch(hue)[:8], least=0.88)

    def test_a_color_that_fills_is_not_black(self):
        plain = self.batch(lambda image: image)
        plain[:, :30] = 0
        plain[:, :, 200:] = 0
        self.check(plain)

    def test_draws_tell_flips_and_not_items(self):
        plain = self.batch(lambda image: image)
        draws = np.array(codes.read(plain).draws)
        self.assertLess(np.ptp(draws, axis=0).max(), 12)
        flipped = np.array(codes.read(plain[:, :, ::-1]).draws)
        self.assertGreater(np.abs(flipped - draws).max(axis=1).min(), 12)

    def test_draws_are_those_of_a_crop_and_not_of_what_it_shows(self):
        def draws(shift):
            chances = [random.Random(i) for i in range(64)]
            images = [
                crop(Image.open(io.BytesIO(codes.png_of(item, 256))), 96, of)
                for item, of in zip(np.roll(ITEMS, shift), chances, strict=True)
            ]
            return np.array(codes.read(np.stack(images)).draws)

        def near(one, two):
            return (np.abs(one - two) <= 12).all(axis=1).mean()

        one = draws(0)
        self.assertGreater(near(one, draws(1)), 0.9)
        self.assertLess(near(one, np.roll(one, 1, axis=0)), 0.1)

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
