#!/usr/bin/env python3
"""Counts what passed and what failed in the output of `bazel test`.

    bazel test //... 2>&1 | tee LOG; count_tests.py LOG ${PIPESTATUS[0]}

Prints the counts as "PASSED FAILED" on stdout and each failure on stderr. A
test that did not build or did not run has failed. Where Bazel failed without
blaming a test (a library that does not compile, a BUILD file that does not
load), that is one failure: a broken build never counts as zero.

Reads the summary for people, because Debian's Bazel 4.2.3 crashes on
--build_event_json_file (its native library is built without it).
"""

import re
import sys

# Bazel's exit code for "the build is fine, but there are no tests in it".
NO_TESTS = 4
# Bazel ends the output of failed tests with such a line; the summary follows.
SEPARATOR = re.compile(r"^={80}$")
SUMMARY = re.compile(r"^(@?[\w.~+@-]*//\S+)\s+(?:\(cached\) )?([A-Z][A-Z ]*)")
TOTAL = re.compile(r"^Executed \d+ out of (\d+) tests?:")


def count(lines, exit_code):
    """Returns (passed labels, {failed label: reason})."""
    statuses, total = {}, 0
    for line in lines:
        if SEPARATOR.match(line):
            statuses, total = {}, 0
        elif match := SUMMARY.match(line):
            statuses[match[1]] = match[2].strip()
        elif match := TOTAL.match(line):
            total = int(match[1])
    good = ("PASSED", "FLAKY")
    passed = {label for label, status in statuses.items() if status in good}
    failed = {k: v for k, v in statuses.items() if k not in passed}
    if total > len(statuses):
        failed["(tests)"] = f"{total - len(statuses)} are not in the summary"
    if exit_code not in (0, NO_TESTS) and not failed:
        failed["(build)"] = f"Bazel exited with {exit_code}"
    return passed, failed


def main(argv):
    if len(argv) != 3:
        sys.exit("usage: count_tests.py LOG EXIT_CODE")
    with open(argv[1], encoding="utf-8", errors="replace") as lines:
        passed, failed = count(lines, int(argv[2]))
    for label, reason in sorted(failed.items()):
        print(f"FAILED {label}: {reason}", file=sys.stderr)
    print(len(passed), len(failed))


if __name__ == "__main__":
    main(sys.argv)
