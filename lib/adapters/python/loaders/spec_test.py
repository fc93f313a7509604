"""What a prepare command may ask of a loader."""

import unittest

from loaders import spec
from testing import loading


class SpecTest(unittest.TestCase):
    def parse(self, **changes):
        return spec.parse(loading.loader_object(**changes))

    def test_as_given(self):
        parsed = self.parse(batch_size=256, workers=3, persistent=True)
        self.assertEqual((parsed.batch_size, parsed.workers), (256, 3))
        self.assertTrue(parsed.persistent)
        self.assertEqual(parsed.mean, loading.MEAN)
        self.assertFalse(parsed.copies_to_device)

    def test_constants_are_repeated_for_each_group_of_channels(self):
        parsed = self.parse(channels=9)
        self.assertEqual(parsed.groups, 3)
        self.assertEqual(parsed.mean, loading.MEAN * 3)
        self.assertEqual(parsed.std, loading.STD * 3)

    def test_refused(self):
        for changes, text in [
            ({"scope": "other"}, "scope is 'other'"),
            ({"source": "net"}, "source is 'net'"),
            ({"on_error": ""}, "on_error"),
            ({"crop_position": "left"}, "crop_position"),
            ({"batch_transform": "shake"}, "batch_transform"),
            ({"ablation": "all"}, "ablation"),
            ({"batch_size": 0}, "batch_size is below 1"),
            ({"workers": -1}, "workers is below 0"),
            ({"prefetch": 0}, "prefetch is below 1"),
            ({"channels": 4}, "4 channels"),
            ({"channels": 9, "mean": [0.5] * 4}, "mean has 4 values for 9"),
            ({"std": []}, "std has 0 values"),
            ({"workers": 0, "persistent": True}, "persistent workers need"),
            ({"color": "red"}, "no field color"),
            ({"scope": "decode_dataloader_augment"}, "needs files"),
        ]:
            with (
                self.subTest(changes),
                self.assertRaisesRegex(ValueError, text),
            ):
                self.parse(**changes)


if __name__ == "__main__":
    unittest.main()
