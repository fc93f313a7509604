#!/usr/bin/env python3
"""A program asks for older versions of functions, and still runs."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import older_symbols

PROGRAM = """#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
int main(int argc, char**) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread other([&] {
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
    changed.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex);
  while (!done) changed.wait(lock);
  lock.unlock();
  other.join();
  std::printf("%g\\n", std::hypot(argc + 2, argc + 3));
}
"""


class OlderSymbolsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, "program")

    def build(self):
        source = self.program.with_suffix(".cc")
        source.write_text(PROGRAM)
        subprocess.run(["g++", source, "-o", self.program], check=True)

    def versions(self):
        file = older_symbols.File(bytearray(self.program.read_bytes()))
        return {version for _, _, version in file.needed_versions()}

    def make_older(self):
        return subprocess.run(
            [sys.executable, older_symbols.__file__, self.program],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_newer_versions_are_gone_and_the_program_runs(self):
        self.build()
        # What this compiler binds to; with another one the test says so.
        self.assertLessEqual(set(older_symbols.OLDER), self.versions())
        self.assertEqual(self.make_older().returncode, 0)
        self.assertFalse(set(older_symbols.OLDER) & self.versions())
        output = subprocess.run(
            [self.program], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        self.assertEqual(output, "5\n")
        # As objdump reads it.
        listed = subprocess.run(
            ["objdump", "-T", self.program],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        line = next(x for x in listed.splitlines() if x.endswith(" hypot"))
        self.assertRegex(line, r"GLIBC_2\.(2\.5|17)\b")

    def test_another_function_of_a_newer_version_is_an_error(self):
        self.build()
        old = older_symbols.OLDER["GLIBCXX_3.4.30"]
        older_symbols.OLDER["GLIBCXX_3.4.30"] = (set(), old[1])
        self.addCleanup(older_symbols.OLDER.update, {"GLIBCXX_3.4.30": old})
        with self.assertRaisesRegex(ValueError, "3.4.30 of .*condition_var"):
            older_symbols.make_older(bytearray(self.program.read_bytes()))

    def test_other_files_stay(self):
        self.program.write_text("#!/bin/sh\n")
        self.assertEqual(self.make_older().returncode, 0)
        self.assertEqual(self.program.read_text(), "#!/bin/sh\n")


if __name__ == "__main__":
    unittest.main()
