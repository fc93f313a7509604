"""The device without torch, with a driver that is made up."""

import ctypes
import unittest

from devices import driver_device


class FakeLibrary:
    """Functions of libcuda.so.1, as ctypes would call them."""

    def __init__(self):
        self.free = 100 << 30
        self.fails = {}
        self.log = []
        self._events = 0

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            self.log.append(name)
            if name in self.fails:
                return self.fails[name]
            getattr(self, f"_{name}", lambda *_: None)(*arguments)
            return 0

        return call

    def _cuEventCreate(self, event, flags):
        self._events += 1
        event._obj.value = self._events

    def _cuEventElapsedTime(self, milliseconds, begin, end):
        if begin.value == end.value:
            raise AssertionError("one event is not a time")
        milliseconds._obj.value = 2.5

    def _cuMemGetInfo_v2(self, free, total):
        free._obj.value = self.free
        total._obj.value = 140 << 30

    def _cuDeviceGetPCIBusId(self, text, size, device):
        text.value = b"0000:01:00.0"

    def _cuGetErrorName(self, code, word):
        names = {2: b"CUDA_ERROR_OUT_OF_MEMORY", 100: b"CUDA_ERROR_NO_DEVICE"}
        word._obj.value = names.get(code)


class FakeClock:
    max_mhz = 1980

    def __init__(self, bus_id):
        self.bus_id = bus_id

    def read(self):
        return 1900, 4


class FakeMemory:
    used = None

    def own(self):
        return self.used


class DriverDeviceTest(unittest.TestCase):
    def setUp(self):
        self.library = FakeLibrary()

    def device(self, clock=FakeClock, memory=FakeMemory):
        return driver_device.DriverDevice(
            driver_device.Driver(self.library), clock, memory
        )

    def test_a_sample_lies_between_two_events(self):
        device = self.device()
        self.library.log.clear()
        device.begin()
        self.assertAlmostEqual(device.end(), 0.0025)
        self.assertEqual(
            self.library.log,
            [
                *("cuEventRecord", "cuEventRecord", "cuEventSynchronize"),
                "cuEventElapsedTime",
            ],
        )

    def test_memory_that_is_gone_since_it_was_made(self):
        device = self.device()
        self.library.free -= 3 << 20
        device.reset_peaks()
        self.assertEqual(device.peaks(), (3 << 20, 3 << 20))
        self.library.free += 9 << 20  # Somebody else's.
        self.assertEqual(device.peaks(), (0, 0))
        self.assertEqual(
            device.free_memory(), "100.01 GiB of 140.00 GiB is free"
        )

    def test_memory_of_the_process_where_it_is_known(self):
        memory = FakeMemory()
        memory.used = 500 << 20  # The context.
        device = self.device(memory=lambda: memory)
        memory.used += 7 << 20
        self.library.free += 9 << 20  # Somebody else's.
        self.assertEqual(device.peaks(), (7 << 20, 7 << 20))

        def none():
            raise OSError("no NVML")

        device = self.device(memory=none)
        self.library.free -= 2 << 20
        self.assertEqual(device.peaks(), (2 << 20, 2 << 20))

    def test_clocks_where_they_can_be_read(self):
        device = self.device()
        self.assertEqual(device.max_clock_mhz, 1980)
        self.assertEqual(device.read_clock(), (1900, 4))

        def none(bus_id):
            raise OSError(bus_id)

        device = self.device(none)
        self.assertEqual(device.max_clock_mhz, 0)
        self.assertIsNone(device.read_clock())

    def test_errors_name_the_call(self):
        for code, words in (
            (100, "cuInit: CUDA_ERROR_NO_DEVICE$"),
            (2, "cuInit: CUDA_ERROR_OUT_OF_MEMORY: out of memory$"),
            (5, "cuInit: code 5$"),
        ):
            self.library.fails = {"cuInit": code}
            with self.assertRaisesRegex(RuntimeError, words):
                self.device()

    def test_without_a_driver(self):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            with self.assertRaisesRegex(RuntimeError, "no CUDA driver is here"):
                driver_device.Driver()
        else:
            self.skipTest("there is a driver")


if __name__ == "__main__":
    unittest.main()
