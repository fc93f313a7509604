"""What a prepare command may say of a mixture."""

import json
import os
import unittest

from loaders import mixture_spec


class SpecTest(unittest.TestCase):
    def test_defaults_and_fields(self):
        spec = mixture_spec.parse({"metadata": "full", "queue_depth": 8})
        self.assertEqual((spec.metadata, spec.queue_depth), ("full", 8))
        self.assertEqual((spec.batch_size, spec.pair_offset), (64, 1))

    def test_threads(self):
        self.assertEqual(
            mixture_spec.parse({"decode_parallelism": 3}).threads, 3
        )
        processors = len(os.sched_getaffinity(0))
        self.assertEqual(mixture_spec.parse({}).threads, processors)

    def test_what_cannot_be(self):
        for message, word in (
            ({"nosuch": 1}, "nosuch"),
            ({"metadata": "some"}, "'some'"),
            ({"on_error": "stop"}, "'stop'"),
            ({"mix_block_length": 0}, "mix_block_length"),
            ({"samples_per_episode": -1}, "samples_per_episode"),
        ):
            with self.assertRaisesRegex(ValueError, word):
                mixture_spec.parse(message)


class SetsTest(unittest.TestCase):
    def read(self, *sets):
        fd = os.memfd_create("sets")
        self.addCleanup(os.close, fd)
        for one in sets:
            os.write(fd, json.dumps(one).encode() + b"\n")
        return mixture_spec.read_sets(fd)

    def test_in_their_order(self):
        sets = [{"name": name, "weight": 0.5, "shards": ["x"]} for name in "ba"]
        self.assertEqual([one.name for one in self.read(*sets)], ["b", "a"])

    def test_what_cannot_be(self):
        good = {"name": "a", "weight": 1, "shards": ["x"]}
        for weight in (0, -1, float("nan")):
            with self.assertRaisesRegex(ValueError, "weight"):
                self.read(good, good | {"weight": weight})
        with self.assertRaisesRegex(ValueError, "no shards"):
            self.read(good | {"shards": []})
        with self.assertRaisesRegex(ValueError, "empty"):
            self.read()


if __name__ == "__main__":
    unittest.main()
