"""What a prepare command may say of a mixture, and what its reply says, with a
clock that only the test moves."""

import json
import os
import unittest

from loaders import mixture
from loaders.epoch_test import Time
from loaders.mixture import MixedBatch, run_batches, stop


class SpecTest(unittest.TestCase):
    def test_defaults_and_fields(self):
        spec = mixture.parse({"metadata": "full", "queue_depth": 8})
        self.assertEqual((spec.metadata, spec.queue_depth), ("full", 8))
        self.assertEqual((spec.batch_size, spec.pair_offset), (64, 1))

    def test_threads(self):
        self.assertEqual(mixture.parse({"decode_parallelism": 3}).threads, 3)
        processors = len(os.sched_getaffinity(0))
        self.assertEqual(mixture.parse({}).threads, processors)

    def test_what_cannot_be(self):
        for message, word in (
            ({"nosuch": 1}, "nosuch"),
            ({"metadata": "some"}, "'some'"),
            ({"on_error": "stop"}, "'stop'"),
            ({"mix_block_length": 0}, "mix_block_length"),
            ({"samples_per_episode": -1}, "samples_per_episode"),
        ):
            with self.assertRaisesRegex(ValueError, word):
                mixture.parse(message)


class SetsTest(unittest.TestCase):
    def read(self, *sets):
        fd = os.memfd_create("sets")
        self.addCleanup(os.close, fd)
        for one in sets:
            os.write(fd, json.dumps(one).encode() + b"\n")
        return mixture.read_sets(fd)

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


class FakeMixture:
    """Starts in 1 s, gives each batch after 2 s, stops in 0.5 s."""

    faults_total = 3
    left_out = ["empty"]

    def __init__(self, time):
        self._time = time
        self.seed = None

    def start(self, seed):
        self._time.now += 1
        self.seed = seed
        return self._iterate()

    def _iterate(self):
        while True:
            self._time.now += 2
            yield MixedBatch([0, 3, 2, 1], 40)

    def stop(self):
        self._time.now += 0.5

    def cpu_s(self):
        return self._time.now / 10

    def faults(self):
        return [{"item": 1, "path": "a", "reason": "b"}]


def run(count, **command):
    time = Time()
    mixture = FakeMixture(time)
    command = {"count": count, "seed": 5} | command
    return run_batches(mixture, command, 4, time, time.sleep), mixture


class EpochTest(unittest.TestCase):
    def test_times(self):
        reply, mixture = run(12)
        self.assertEqual(mixture.seed, 5)
        self.assertEqual((reply["items"], reply["batches"]), (12, 3))
        self.assertEqual(reply["startup_s"], 1)
        self.assertEqual(reply["first_batch_s"], 3)
        self.assertEqual(reply["samples_s"], [2, 2, 2])
        self.assertEqual(reply["times_s"], [3, 5, 7])
        self.assertEqual(reply["elapsed_s"], 7)
        self.assertEqual(reply["counts"], [[0, 3, 2, 1]] * 3)
        self.assertEqual(reply["bytes_out"], 120)
        self.assertAlmostEqual(reply["cpu_s"], 0.7)

    def test_a_batch_that_is_begun_is_whole(self):
        self.assertEqual(run(9)[0]["items"], 12)

    def test_a_consumer_is_not_waiting(self):
        reply, _ = run(8, consumer_s=10)
        self.assertEqual(reply["samples_s"], [2, 2])
        self.assertEqual(reply["times_s"], [3, 15])
        self.assertEqual(reply["consumer_s"], 20)

    def test_the_limit_stops_early(self):
        self.assertEqual(run(4000, limit_s=4)[0]["batches"], 2)

    def test_faults(self):
        reply, _ = run(4)
        self.assertEqual(len(reply["errors"]), 1)
        self.assertEqual(reply["errors_total"], 3)
        self.assertEqual(reply["left_out"], ["empty"])

    def test_the_end_is_apart(self):
        time = Time()
        self.assertEqual(stop(FakeMixture(time), time), {"teardown_s": 0.5})


if __name__ == "__main__":
    unittest.main()
