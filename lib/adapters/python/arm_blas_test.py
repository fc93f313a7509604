"""The variable that keeps NVPL from hanging: set where it is needed only."""

import os
import platform
import unittest
from unittest import mock

import arm_blas

VARIABLE = "NVPL_BLAS_DEBUG_CPU_TYPE"


class ArmBlasTest(unittest.TestCase):
    def outcome(self, machine, hwcap, environment):
        libc = mock.Mock()
        libc.getauxval = mock.Mock(return_value=hwcap)
        with (
            mock.patch.object(platform, "machine", return_value=machine),
            mock.patch.object(arm_blas.ctypes, "CDLL", return_value=libc),
            mock.patch.dict(os.environ, environment, clear=True),
        ):
            arm_blas.avoid_hidden_sve()
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
            self.skipTest("this is no arm64 machine")
        with open("/proc/cpuinfo") as cpuinfo:
            flags = cpuinfo.read().split()
        with mock.patch.dict(os.environ, {}, clear=True):
            arm_blas.avoid_hidden_sve()
            self.assertEqual(VARIABLE in os.environ, "sve" not in flags)


if __name__ == "__main__":
    unittest.main()
