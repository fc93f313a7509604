"""Counts from the output of Bazel 4.2.3, recorded and cut down."""

import unittest

import count_tests

MIXED = """\
INFO: Found 13 targets and 7 test targets...
FAIL: //scratch:fail_test (see testlogs/scratch/fail_test/test.log)
==================== Test output for //scratch:fail_test:
//not/a:summary_line                                            PASSED in 0.0s
================================================================================
//lib/base:files_test                                  (cached) PASSED in 0.1s
//scratch:shaky_test                         FLAKY, failed in 1 out of 2 in 0.1s
//scratch:nobuild_test                                          FAILED TO BUILD
//scratch:slow_test                                             TIMEOUT in 60.0s
//scratch:never_test                                                  NO STATUS
//scratch:fail_test                                              FAILED in 0.0s
  testlogs/scratch/fail_test/test.log

Executed 2 out of 6 tests: 2 tests pass, 1 fails to build and 3 fail locally.
"""
PASSING = """\
//lib/base:files_test                                           PASSED in 0.1s
//lib/base/tool:tool_main_test                       (cached) PASSED in 0.0s

Executed 1 out of 2 tests: 2 tests pass.
"""


class CountTest(unittest.TestCase):
    def count(self, text, exit_code):
        return count_tests.count(text.splitlines(), exit_code)

    def test_every_status(self):
        passed, failed = self.count(MIXED, 1)
        self.assertEqual(
            passed, {"//lib/base:files_test", "//scratch:shaky_test"}
        )
        self.assertEqual(
            failed,
            {
                "//scratch:nobuild_test": "FAILED TO BUILD",
                "//scratch:slow_test": "TIMEOUT",
                "//scratch:never_test": "NO STATUS",
                "//scratch:fail_test": "FAILED",
            },
        )

    def test_all_passed(self):
        passed, failed = self.count(PASSING, 0)
        self.assertEqual((len(passed), failed), (2, {}))

    def test_library_that_does_not_build(self):
        passed, failed = self.count(PASSING, 1)
        self.assertEqual(len(passed), 2)
        self.assertEqual(failed, {"(build)": "Bazel exited with 1"})

    def test_summary_cut_short(self):
        _, failed = self.count(PASSING.replace("of 2", "of 3"), 0)
        self.assertEqual(failed, {"(tests)": "1 are not in the summary"})

    def test_no_output_at_all(self):
        self.assertEqual(len(self.count("", 37)[1]), 1)

    def test_no_tests_is_fine(self):
        self.assertEqual(self.count("", count_tests.NO_TESTS), (set(), {}))


if __name__ == "__main__":
    unittest.main()
