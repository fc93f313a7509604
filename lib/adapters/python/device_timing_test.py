"""The loop around calls on a device, with a device whose time is made up."""

import gc
import unittest

import child
import device_timing
import numpy as np


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


class DeviceTimingTest(unittest.TestCase):
    def calls(self, device, count, items=1):
        def call(item):
            device.log.append(int(item[0]))
            return np.zeros(10, np.uint8)

        for i in range(count):
            yield call, np.full(4, i, np.uint8), items

    def test_a_chunk_lies_between_two_marks(self):
        device = FakeDevice()
        reply = device_timing.time_on_device(
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
        reply = device_timing.time_on_device(
            device, self.calls(device, 2, items=8), chunk=1
        )
        self.assertEqual(reply["items"], 16)
        self.assertNotIn("flush", device.log)

    def test_every_sample_has_its_clock_or_none_has(self):
        device = FakeDevice([(1980, 0), (1200, 4)])
        reply = device_timing.time_on_device(
            device, self.calls(device, 2), chunk=1
        )
        self.assertEqual(reply["device"]["clocks_mhz"], [1980, 1200])
        self.assertEqual(reply["device"]["throttle_reasons"], 4)
        device = FakeDevice([(1980, 0)])
        reply = device_timing.time_on_device(
            device, self.calls(device, 2), chunk=1
        )
        self.assertEqual(reply["device"]["clocks_mhz"], [])

    def test_stops_at_its_limit(self):
        device = FakeDevice()
        reply = device_timing.time_on_device(
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
            device_timing.time_on_device(
                FakeDevice(), [(fail, np.zeros(1), 1)], chunk=1
            )
        self.assertTrue(gc.isenabled())


if __name__ == "__main__":
    unittest.main()
