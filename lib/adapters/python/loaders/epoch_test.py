"""What an epoch's reply says, with a clock that only the test moves."""

import unittest

import item_ids
import numpy as np
from loaders.epoch import Batch, Stages, run_epoch


class Time:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class FakeLoader:
    """Starts in 1 s, gives each batch after 2 s, stops in 0.5 s."""

    def __init__(self, time, batches, fails=False):
        self._time = time
        self._batches = batches
        self._fails = fails
        self.calls = []

    def set_epoch(self, seed, first, count, *epoch):
        self._time.now += 50  # Must not be seen in the reply.
        self.calls.append((seed, first, count, *epoch))

    def resume(self, state):
        self.calls.append(state)

    def state(self):
        return "here"

    def start(self):
        self._time.now += 1
        return self._iterate()

    def _iterate(self):
        for batch in self._batches:
            self._time.now += 2
            yield batch
        if self._fails:
            raise RuntimeError("item 5, a.jpg: no image")

    def stop(self):
        self._time.now += 0.5
        self.calls.append("stop")

    def cpu_s(self):
        return self._time.now / 10

    def stages(self):
        return [{"name": "decode", "busy_s": 1.0}]


def run(batches, /, fails=False, **command):
    time = Time()
    loader = FakeLoader(time, batches, fails)
    command = {"count": 8, **command}
    return loader, run_epoch(loader, command, clock=time, sleep=time.sleep)


class EpochTest(unittest.TestCase):
    def test_times(self):
        loader, reply = run([Batch(4, 400, []), Batch(3, 300, [])], seed=9)
        self.assertEqual(loader.calls, [(9, 0, 8), "stop"])
        self.assertEqual((reply["items"], reply["batches"]), (7, 2))
        self.assertEqual(reply["bytes_out"], 700)
        self.assertEqual(reply["startup_s"], 1)
        self.assertEqual(reply["first_batch_s"], 3)
        self.assertEqual(reply["samples_s"], [3, 2])
        self.assertEqual(reply["teardown_s"], 0.5)
        self.assertEqual(reply["elapsed_s"], 5.5)
        self.assertEqual(reply["consumer_s"], 0)
        self.assertAlmostEqual(reply["cpu_s"], 0.55)
        self.assertEqual(reply["stages"], [{"name": "decode", "busy_s": 1.0}])

    def test_a_training_step_is_played(self):
        _, reply = run([Batch(4, 1, [])] * 2, consumer_s=10)
        self.assertEqual(reply["consumer_s"], 20)
        self.assertEqual(reply["samples_s"], [3, 2])
        self.assertEqual(reply["elapsed_s"], 25.5)
        self.assertEqual(reply["teardown_s"], 0.5)

    def test_the_limit_stops_after_a_batch(self):
        loader, reply = run([Batch(1, 1, [])] * 9, limit_s=4)
        self.assertEqual(reply["items"], 2)
        self.assertEqual(loader.calls[-1], "stop")

    def test_errors_are_counted_and_the_first_named(self):
        errors = [{"item": i, "path": "p", "reason": "r"} for i in range(1500)]
        _, reply = run([Batch(0, 0, errors), Batch(2, 8, [])])
        self.assertEqual(reply["errors"], errors[:1000])
        self.assertEqual(reply["errors_total"], 1500)
        self.assertEqual((reply["items"], reply["batches"]), (2, 1))

    def test_a_failure_stops_the_loader(self):
        time = Time()
        loader = FakeLoader(time, [Batch(1, 1, [])], fails=True)
        with self.assertRaisesRegex(RuntimeError, "a.jpg"):
            run_epoch(loader, {"count": 2}, time, time.sleep)
        self.assertEqual(loader.calls[-1], "stop")

    def test_nothing_came(self):
        _, reply = run([])
        self.assertEqual((reply["items"], reply["samples_s"]), (0, []))
        self.assertEqual(reply["first_batch_s"], 1.5)

    def test_waits_for_a_device_are_no_stage(self):
        stages = Stages(2)
        with stages.busy("copy"), stages.waiting():
            pass
        self.assertGreater(stages.sync_s(), 0)
        self.assertEqual([s["name"] for s in stages.report()], ["copy"])
        stages.clear()
        self.assertEqual(stages.sync_s(), 0)


class AuditTest(unittest.TestCase):
    def batches(self):
        batches = []
        for ids in ([3, 9], [4], [7]):
            data = np.empty((len(ids), 3, 8, 8), np.uint8)
            for i, item in enumerate(ids):
                data[i] = np.reshape(item_ids.color_of(item), (3, 1, 1))
            batches.append(Batch(len(ids), data.nbytes, [], data))
        return batches

    def test_the_reply_has_ids(self):
        loader, reply = run(self.batches(), ids=True, epoch=5, state="there")
        self.assertEqual(reply["ids"], [[3, 9], [4], [7]])
        self.assertEqual(reply["unreadable"], 0)
        self.assertEqual(loader.calls[0][3:], (5,))
        self.assertEqual(loader.calls[1], "there")
        self.assertNotIn("state", reply)

    def test_an_epoch_ends_with_a_state(self):
        _, reply = run(self.batches(), ids=True, batches=2)
        self.assertEqual(reply["ids"], [[3, 9], [4]])
        self.assertEqual(reply["state"], "here")

    def test_a_timed_epoch_has_none_of_it(self):
        loader, reply = run(self.batches())
        self.assertEqual(len(loader.calls[0]), 3)
        self.assertNotIn("ids", reply)

    def test_a_loader_without_data_cannot_be_audited(self):
        with self.assertRaisesRegex(ValueError, "by its content"):
            run([Batch(1, 1, [])], ids=True)


if __name__ == "__main__":
    unittest.main()
