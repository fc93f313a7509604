"""The timed loop, with calls whose cost is known by counting, not by clock."""

import gc
import os
import time
import unittest
import unittest.mock
import weakref

import timing


class Cycle:
    def __init__(self):
        self.me = self


class TimingTest(unittest.TestCase):
    def test_one_sample_a_call(self):
        seen = []
        samples, calls = timing.time_calls(seen.append, [1, 2, 3])
        self.assertEqual((seen, calls), ([1, 2, 3], 3))
        self.assertEqual(len(samples), 3)
        self.assertGreater(min(samples), 0)

    def test_takes_longer_when_a_gate_is_tried(self):
        def call(_):
            time.sleep(0.002)

        slow = {"FEEDRATE_SLOWDOWN_PERCENT": "900"}
        with unittest.mock.patch.dict(os.environ, slow):
            samples, _ = timing.time_calls(call, [1, 2])
        self.assertGreaterEqual(min(samples), 0.02)
        for none in ("", "x", "-3", "inf", "nan"):
            slow = {"FEEDRATE_SLOWDOWN_PERCENT": none}
            with unittest.mock.patch.dict(os.environ, slow):
                self.assertIs(timing._slowed(call), call)

    def test_chunks_and_a_shorter_last_one(self):
        seen = []
        samples, calls = timing.time_calls(seen.append, list(range(7)), chunk=3)
        self.assertEqual((seen, calls), (list(range(7)), 7))
        self.assertEqual(len(samples), 3)

    def test_stops_at_the_limit(self):
        seen = []
        for chunk in (1, 2):
            seen.clear()
            samples, calls = timing.time_calls(
                seen.append, [0] * 1000, chunk, limit_s=1e-9
            )
            self.assertEqual((len(samples), calls), (1, chunk))
            self.assertEqual(len(seen), chunk)

    def test_an_output_is_gone_before_the_next_call(self):
        alive = []

        def call(_):
            alive.append(sum(r() is not None for r in outputs))
            output = Cycle()
            output.me = None
            outputs.append(weakref.ref(output))
            return output

        outputs = []
        timing.time_calls(call, [0] * 5)
        self.assertEqual(alive, [0] * 5)

    def test_the_collector_sleeps_during_calls_and_wakes_after(self):
        states = []
        timing.time_calls(lambda _: states.append(gc.isenabled()), [0, 0])
        self.assertEqual(states, [False, False])
        self.assertTrue(gc.isenabled())

    def test_and_after_an_exception(self):
        with self.assertRaises(ZeroDivisionError):
            timing.time_calls(lambda x: 1 / x, [0])
        self.assertTrue(gc.isenabled())

    def test_cycles_do_not_pile_up(self):
        living, most = weakref.WeakSet(), 0

        def call(_):
            nonlocal most
            for _ in range(10):
                living.add(Cycle())
            most = max(most, len(living))

        timing.time_calls(call, [0] * 2000)
        self.assertLess(most, 2000)  # of 20,000

    def test_fresh_inputs_are_made_one_at_a_time(self):
        log = []

        def fresh(value):
            log.append(f"make {value}")
            return value * 10

        timing.time_calls(lambda v: log.append(v), [1, 2], fresh=fresh)
        self.assertEqual(log, ["make 1", 10, "make 2", 20])
        log.clear()
        timing.time_calls(lambda v: log.append(v), [1, 2, 3], 2, fresh=fresh)
        self.assertEqual(log, ["make 1", "make 2", 10, 20, "make 3", 30])

    def test_the_clock_itself(self):
        self.assertGreater(timing.clock_pair_s(), 0)


if __name__ == "__main__":
    unittest.main()
