#!/usr/bin/env python3
"""dev/lock.py: hashes of every processor and Python, and markers, without a
network: pip's answers are made up."""

import pathlib
import tempfile
import unittest
from unittest import mock

import lock


def answer(*packages):
    """What pip reports for (name, version, hash)."""
    return [
        {
            "metadata": {"name": name, "version": version},
            "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
        }
        for name, version, digest in packages
    ]


class LockTest(unittest.TestCase):
    def test_pins_are_in_a_stable_order(self):
        report = answer(("b", "1", ""), ("C", "2", ""), ("a", "3", ""))
        self.assertEqual(lock.pins_of(report), ["a==3", "b==1", "C==2"])

    def test_a_list_on_top_of_a_lock_leaves_out_what_it_has(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "base.lock").write_text(
                "a==1 \\\n    --hash=sha256:11\n"
                'b==2 ; platform_machine == "x86_64" \\\n    --hash=sha256:2\n'
            )
            plain, top = folder / "plain.lock", folder / "top.lock"
            plain.write_text("#: c==3\n")
            top.write_text("# optional\n# on top of base.lock\n#: c==3\n")
            self.assertEqual(lock.pins_below(plain), [])
            self.assertEqual(lock.pins_below(top), ["a==1", "b==2"])
            top.write_text("# on top of base.lock\n#: a==0\na==1\n")
            self.assertEqual(lock.pins_below(top), ["b==2"])

    def test_one_hash_each_of_all_wheels(self):
        found = {
            ("x86_64", "3.11"): {"a==1": "11"},
            ("x86_64", "3.12"): {"a==1": "22"},
            ("aarch64", "3.11"): {"a==1": "33"},
            ("aarch64", "3.12"): {"a==1": "33"},
        }
        self.assertEqual(
            lock.lock_lines("a==1", found),
            "a==1 \\\n    --hash=sha256:11 \\\n    --hash=sha256:22 \\\n"
            "    --hash=sha256:33",
        )

    def test_a_marker_where_a_processor_has_no_wheel(self):
        found = {
            ("x86_64", "3.11"): {"a==1": "11"},
            ("x86_64", "3.12"): {"a==1": "11"},
            ("aarch64", "3.11"): {"a==1": None},
            ("aarch64", "3.12"): {"a==1": None},
        }
        self.assertEqual(
            lock.lock_lines("a==1", found),
            'a==1 ; platform_machine == "x86_64" \\\n    --hash=sha256:11',
        )

    def test_no_wheel_at_all(self):
        found = {(m, p): {} for m in lock.MACHINES for p in lock.PYTHONS}
        with self.assertRaisesRegex(SystemExit, "a==1: no wheels"):
            lock.lock_lines("a==1", found)

    def test_a_package_that_is_taken_as_source(self):
        report = answer(("a", "1", "11"), ("b", "2", "22"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.lock"
            path.write_text("#: --no-binary b\n#: a==1\n")
            found = lock.source_hashes(path, report)
        self.assertEqual(found, {"b==2": "22"})

    def test_one_missing_wheel_does_not_hide_the_others(self):
        def pip_report(*arguments):
            if "gone==1" in arguments:
                return None
            return answer(("a", "1", "11")) if "a==1" in arguments else None

        with mock.patch.object(lock, "pip_report", pip_report):
            self.assertEqual(
                lock.hashes_on(["a==1", "gone==1"], "x86_64", "3.11", "here"),
                {"a==1": "11", "gone==1": None},
            )


if __name__ == "__main__":
    unittest.main()
