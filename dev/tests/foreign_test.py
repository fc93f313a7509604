"""dev/foreign: a case that crashes or hangs is unexplained; others go on."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev/foreign"))
os.environ.setdefault("FEEDRATE_CACHE", "/nonexistent")

import fetch  # noqa: E402
import foreign  # noqa: E402
import sources  # noqa: E402

KIND = """
import os, time
def cases(folder):
    return ["good", "crash", "hang", "exit", "again"]
def compare(folder, case):
    print("noise")
    if case == "crash": os.abort()
    if case == "hang": time.sleep(60)
    if case == "exit": raise SystemExit(0)
    return ["equal", ""]
"""


class ForeignTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_cases_that_end_a_worker_are_unexplained(self):
        (self.folder / "made_up.py").write_text(KIND)
        (self.folder / "dist").mkdir()
        source = sources.Source("x", "made_up", lambda: self.folder)
        out = []
        with (
            mock.patch.dict(os.environ, PYTHONPATH=str(self.folder)),
            mock.patch.object(foreign, "LIMIT_S", 2),
            mock.patch.object(foreign, "ROOT", self.folder),
        ):
            counts = foreign.compare_all(source, sys.executable, out)
        self.assertEqual(counts, {"equal": 2, "unexplained": 3})
        self.assertEqual(
            [(r["case"], r["why"][:7]) for r in out if r["why"]],
            [("crash", "crashes"), ("hang", "hangs: "), ("exit", "crashes")],
        )

    def test_what_cannot_be_fetched_is_in_the_table(self):
        with (
            mock.patch.object(fetch, "CACHE", self.folder),
            mock.patch.object(fetch, "OFFLINE", True),
            self.assertRaisesRegex(fetch.NotFetchedError, "not fetched yet"),
        ):
            fetch.debian("exiv2")
        source = sources.Source("exiv2", "images", None)
        lines, bad = foreign.table([(source, "no network")])
        self.assertIn("not compared: no network", lines[2])
        self.assertEqual(bad, 0)
        lines, bad = foreign.table([(source, {"equal": 2, "unexplained": 1})])
        self.assertEqual(lines[2], "| exiv2 | images | 3 | 2 | 0 | 0 | 1 |")
        self.assertEqual(bad, 1)


if __name__ == "__main__":
    unittest.main()
