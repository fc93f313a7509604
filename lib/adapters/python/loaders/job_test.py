"""Which memory a loader's peaks count."""

import sys
import types
import unittest
from unittest import mock

from devices import nvml
from loaders.job import _Peaks


class FakeCuda:
    reset = False

    def reset_peak_memory_stats(self):
        self.reset = True

    def max_memory_allocated(self):
        return 10

    def max_memory_reserved(self):
        return 20


class PeaksTest(unittest.TestCase):
    def with_modules(self, **modules):
        kept = {n: m for n, m in sys.modules.items() if n != "torch"}
        return mock.patch.dict(sys.modules, kept | modules, clear=True)

    def test_of_torch_where_the_library_has_imported_it(self):
        cuda = FakeCuda()
        with self.with_modules(torch=types.SimpleNamespace(cuda=cuda)):
            peaks = _Peaks("cuda")
        peaks.reset()
        self.assertTrue(cuda.reset)
        self.assertEqual(
            peaks.read(), {"gpu_allocated_bytes": 10, "gpu_reserved_bytes": 20}
        )

    def test_of_the_driver_where_it_has_not(self):
        memory = types.SimpleNamespace(taken=lambda: 30)
        with (
            self.with_modules(),
            mock.patch.object(nvml, "Memory", return_value=memory),
        ):
            peaks = _Peaks("cuda")
            self.assertNotIn("torch", sys.modules)
        peaks.reset()
        self.assertEqual(
            peaks.read(), {"gpu_allocated_bytes": 30, "gpu_reserved_bytes": 30}
        )

    def test_nothing_where_nobody_can_tell(self):
        with (
            self.with_modules(),
            mock.patch.object(nvml, "Memory", side_effect=OSError),
        ):
            self.assertEqual(_Peaks("cuda").read(), {})
        self.assertEqual(_Peaks("cpu").read(), {})


if __name__ == "__main__":
    unittest.main()
