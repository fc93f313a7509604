"""item_ids: colors of all ids, in the forms that loaders deliver."""

import unittest

import item_ids
import numpy as np


def pictures(ids, size=16):
    """uint8 NHWC."""
    colors = np.array([item_ids.color_of(i) for i in ids], np.uint8)
    return np.broadcast_to(
        colors[:, None, None, :], (len(ids), size, size, 3)
    ).copy()


class ItemIdsTest(unittest.TestCase):
    def test_reads_all_ids(self):
        ids = list(range(item_ids.ITEM_IDS))
        read = item_ids.Reader().read(pictures(ids, 8))
        self.assertEqual(read, (ids, 0))

    def test_reads_what_loaders_deliver(self):
        ids = [5, 4095, 0, 77]
        images = pictures(ids).astype(np.float32)
        planes = images.transpose(0, 3, 1, 2)
        mean = np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
        std = np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)
        for batch in (
            images,
            planes,
            images / 255,
            planes / 127.5 - 1,
            ((planes / 255 - mean) / std).astype(np.float32),
            np.concatenate([planes, planes, planes], axis=1),
        ):
            self.assertEqual(item_ids.Reader().read(batch), (ids, 0))

    def test_reads_clips(self):
        ids = [5, 4095, 0, 77]
        clips = np.repeat(pictures(ids)[:, None], 4, axis=1)
        for batch in (
            clips,
            clips.transpose(0, 1, 4, 2, 3),
            clips.transpose(0, 4, 1, 2, 3) / 255,
        ):
            self.assertEqual(item_ids.Reader().read(batch), (ids, 0))
        # A frame of another clip.
        clips[1, 3] = clips[0, 0]
        self.assertEqual(item_ids.Reader().read(clips), ([5, 0, 77], 1))

    def test_a_corner_without_picture_does_not_matter(self):
        images = pictures([9])
        images[:, :6, :6] = 0
        self.assertEqual(item_ids.Reader().read(images), ([9], 0))

    def test_colors_that_are_no_id_are_counted(self):
        images = pictures([3, 8, 4])
        images[1] = 0
        images[2] = images[2] // 2 + pictures([1000])[0] // 2
        self.assertEqual(item_ids.Reader().read(images), ([3], 2))
        self.assertEqual(item_ids.Reader().read(images * np.nan)[0], [])


if __name__ == "__main__":
    unittest.main()
