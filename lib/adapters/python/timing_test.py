"""The timed loops, with calls whose cost is known by counting, not by clock,
and with a device whose time is made up."""

import gc
import os
import time
import unittest
import unittest.mock
import weakref

import child
import numpy as np
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

    def test_probes_lie_between_samples(self):
        probes = []
        with unittest.mock.patch.object(timing, "_PROBE_EVERY_NS", -1):
            samples, _ = timing.time_calls(
                lambda _: None, [1] * 6, chunk=2, probes=probes
            )
        self.assertEqual(len(samples), 3)
        # Before all, after each sample, and after all.
        self.assertEqual([at for at, _, _ in probes], [0, 1, 2, 3, 3])
        self.assertGreater(
            min(min(wide, chain) for _, wide, chain in probes), 0
        )

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


class FakeDevice:
    max_clock_mhz = 1980

    def __init__(self, clocks=None):
        self.log = []
        self._clocks = iter(clocks or [])

    def flush(self):
        self.log.append("flush")

    def begin(self):
        self.log.append("begin")

    def end(self):
        self.log.append("end")
        return 0.5

    def reset_peaks(self):
        self.log.append("reset")

    def peaks(self):
        return 300, 400

    def read_clock(self):
        return next(self._clocks, None)

    def besides_clock(self):
        return {"memory_mhz": 3201, "temperature_c": 40 + len(self.log)}


class DeviceTimingTest(unittest.TestCase):
    def calls(self, device, count, items=1):
        def call(item):
            device.log.append(int(item[0]))
            return np.zeros(10, np.uint8)

        for i in range(count):
            yield call, np.full(4, i, np.uint8), items

    def test_what_is_read_beside_the_clock(self):
        device = FakeDevice(clocks=[(1980, 0), (1980, 0)])
        reply = timing.time_on_device(
            device, self.calls(device, 2), chunk=1, cold=False
        )["device"]
        self.assertEqual(reply["memory_clocks_mhz"], [3201, 3201])
        # The highest; it rises with each entry of the log.
        self.assertEqual(reply["temperature_c"], 40 + len(device.log))
        self.assertNotIn("power_limit_w", reply)
        silent = FakeDevice()
        reply = timing.time_on_device(
            silent, self.calls(silent, 1), chunk=1, cold=False
        )["device"]
        self.assertNotIn("memory_clocks_mhz", reply)

    def test_a_chunk_lies_between_two_marks(self):
        device = FakeDevice()
        reply = timing.time_on_device(
            device, self.calls(device, 3), chunk=2, cold=True
        )
        self.assertEqual(
            device.log,
            [
                "reset",
                "flush",
                "begin",
                0,
                1,
                "end",
                "flush",
                "begin",
                2,
                "end",
            ],
        )
        self.assertEqual(reply["samples_s"], [0.5, 0.5])
        self.assertEqual(reply["items"], 3)
        self.assertEqual(reply["device"]["bytes_in"], 12)
        self.assertEqual(reply["device"]["bytes_out"], 30)
        self.assertEqual(reply["device"]["peak_reserved_bytes"], 400)
        self.assertEqual(reply["device"]["clocks_mhz"], [])

    def test_a_batch_is_one_call_of_many_items(self):
        device = FakeDevice()
        reply = timing.time_on_device(
            device, self.calls(device, 2, items=8), chunk=1
        )
        self.assertEqual(reply["items"], 16)
        self.assertNotIn("flush", device.log)

    def test_every_sample_has_its_clock_or_none_has(self):
        device = FakeDevice([(1980, 0), (1200, 4)])
        reply = timing.time_on_device(device, self.calls(device, 2), chunk=1)
        self.assertEqual(reply["device"]["clocks_mhz"], [1980, 1200])
        self.assertEqual(reply["device"]["throttle_reasons"], 4)
        device = FakeDevice([(1980, 0)])
        reply = timing.time_on_device(device, self.calls(device, 2), chunk=1)
        self.assertEqual(reply["device"]["clocks_mhz"], [])

    def test_stops_at_its_limit(self):
        device = FakeDevice()
        reply = timing.time_on_device(
            device, self.calls(device, 50), chunk=1, limit_s=1e-9
        )
        self.assertEqual(reply["items"], 1)

    def test_memory_that_ran_out_is_told_with_what_was_free(self):
        class FullDevice:
            def free_memory(self):
                return "1.25 GiB of 139.80 GiB is free"

        class AcceleratorError(RuntimeError):
            """As torch 2.11 calls it."""

        def words(error):
            return child.error_reply(error, FullDevice())["error"]

        self.assertEqual(
            words(AcceleratorError("CUDA error: out of memory\nSearch for it")),
            "AcceleratorError: CUDA error: out of memory; 1.25 GiB of 139.80"
            " GiB is free\nSearch for it",
        )
        # Torch's allocator has said so itself.
        told = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a"
        told += " total capacity of 139.80 GiB of which 1.25 GiB is free."
        self.assertEqual(words(MemoryError(told)), f"MemoryError: {told}")
        self.assertEqual(words(ValueError("no")), "ValueError: no")

    def test_the_collector_is_as_before_after_an_error(self):
        def fail(_):
            raise RuntimeError("out of memory")

        self.assertTrue(gc.isenabled())
        with self.assertRaises(RuntimeError):
            timing.time_on_device(
                FakeDevice(), [(fail, np.zeros(1), 1)], chunk=1
            )
        self.assertTrue(gc.isenabled())


if __name__ == "__main__":
    unittest.main()
