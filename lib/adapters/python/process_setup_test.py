"""The state of malloc and the environment before anything is measured."""

import os
import platform
import resource
import subprocess
import sys
import unittest
from unittest import mock

import process_setup

VARIABLE = "NVPL_BLAS_DEBUG_CPU_TYPE"


def faults_of_calls():
    """Page faults of allocating, writing and freeing 10 x 8 MiB."""

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    bytearray(b"x") * (8 << 20)
    before = faults()
    for _ in range(10):
        bytearray(b"x") * (8 << 20)
    return faults() - before


class SettleMallocTest(unittest.TestCase):
    def run_in_fresh_process(self, prelude):
        code = f"import process_setup, process_setup_test; {prelude}; "
        code += "print(process_setup_test.faults_of_calls())"
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            stdout=subprocess.PIPE,
            check=True,
        )
        return int(done.stdout)

    def test_no_call_faults_its_memory_in_again(self):
        # 8 MiB are 2,048 pages of 4 KiB, or 128 of 64 KiB.
        faults = self.run_in_fresh_process("process_setup.settle_malloc()")
        self.assertLess(faults, 100)

    def test_may_be_called_again(self):
        for _ in range(3):
            process_setup.settle_malloc()


class AvoidHiddenSveTest(unittest.TestCase):
    def outcome(self, machine, hwcap, environment):
        libc = mock.Mock()
        libc.getauxval = mock.Mock(return_value=hwcap)
        with (
            mock.patch.object(platform, "machine", return_value=machine),
            mock.patch.object(process_setup.ctypes, "CDLL", return_value=libc),
            mock.patch.dict(os.environ, environment, clear=True),
        ):
            process_setup.avoid_hidden_sve()
            return os.environ.get(VARIABLE)

    def test_only_where_sve_is_hidden(self):
        sve = 1 << 22
        self.assertEqual(self.outcome("aarch64", ~sve, {}), "1")
        self.assertIsNone(self.outcome("aarch64", sve, {}))
        self.assertIsNone(self.outcome("x86_64", 0, {}))

    def test_the_users_choice_stands(self):
        self.assertEqual(self.outcome("aarch64", 0, {VARIABLE: "3"}), "3")

    def test_agrees_with_the_kernel(self):
        if platform.machine() != "aarch64":
            self.skipTest("this is not an arm64 machine")
        with open("/proc/cpuinfo") as cpuinfo:
            flags = cpuinfo.read().split()
        with mock.patch.dict(os.environ, {}, clear=True):
            process_setup.avoid_hidden_sve()
            self.assertEqual(VARIABLE in os.environ, "sve" not in flags)


if __name__ == "__main__":
    unittest.main()
