"""Memory that was freed is used again without asking the kernel."""

import resource
import subprocess
import sys
import unittest

import allocator


def faults_of_calls():
    """Page faults of allocating, writing and freeing 10 x 8 MiB."""

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    bytearray(b"x") * (8 << 20)
    before = faults()
    for _ in range(10):
        bytearray(b"x") * (8 << 20)
    return faults() - before


class AllocatorTest(unittest.TestCase):
    def run_in_fresh_process(self, prelude):
        code = f"import allocator_test, allocator; {prelude}; "
        code += "print(allocator_test.faults_of_calls())"
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            stdout=subprocess.PIPE,
            check=True,
        )
        return int(done.stdout)

    def test_no_call_faults_its_memory_in_again(self):
        # 8 MiB are 2,048 pages of 4 KiB, or 128 of 64 KiB.
        self.assertLess(self.run_in_fresh_process("allocator.settle()"), 100)

    def test_may_be_called_again(self):
        for _ in range(3):
            allocator.settle()


if __name__ == "__main__":
    unittest.main()
