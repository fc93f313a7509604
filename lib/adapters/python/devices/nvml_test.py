"""Memory of a GPU, with a management library that is made up."""

import os
import unittest

from devices import nvml


class FakeNvml:
    """Functions of libnvidia-ml.so.1, as ctypes would call them."""

    def __init__(self, processes=()):
        self.used = 10 << 30
        self.processes = list(processes)
        self.code = 0

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        return 0

    def nvmlDeviceGetMemoryInfo(self, device, info):
        info._obj.used = self.used
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, device, count, into):
        for i, (pid, used) in enumerate(self.processes):
            into[i].pid, into[i].used = pid, used
        count._obj.value = len(self.processes)
        return self.code


class OlderNvml(FakeNvml):
    @property
    def nvmlDeviceGetComputeRunningProcesses_v3(self):
        raise AttributeError("not in this driver")


class MemoryTest(unittest.TestCase):
    def test_of_this_process(self):
        library = FakeNvml([(1, 9 << 30), (os.getpid(), 5 << 20)])
        memory = nvml.Memory(library)
        library.used = 0  # Somebody has ended.
        self.assertEqual(memory.taken(), 5 << 20)

    def test_of_everybody_where_processes_are_not_told_apart(self):
        unknown = FakeNvml([(os.getpid(), 2**64 - 1)])
        denied = FakeNvml([(os.getpid(), 5 << 20)])
        denied.code = 4
        for library in (FakeNvml([(1, 7)]), unknown, denied, OlderNvml()):
            memory = nvml.Memory(library)
            self.assertIsNone(memory.own())
            library.used += 3 << 20
            self.assertEqual(memory.taken(), 3 << 20)
            library.used -= 9 << 20
            self.assertEqual(memory.taken(), 0)


if __name__ == "__main__":
    unittest.main()
