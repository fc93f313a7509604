"""A look at folders of others ends, and counts what is there."""

import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/pipeline"))

import bench_folder  # noqa: E402


class LookAtTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def image(self, *parts):
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")

    def found(self, **limits):
        return bench_folder.look_at(self.folder, **limits)

    def test_links_are_followed_and_counted_once(self):
        self.image("a", "0.jpg")
        (self.folder / "link").symlink_to("a")
        (self.folder / "a" / "up").symlink_to("..")
        self.assertEqual(self.found(), ("image", 1, 5))

    def test_what_is_no_file_does_not_count(self):
        self.image("0.jpg")
        os.mkfifo(self.folder / "1.jpg")
        (self.folder / "2.jpg").symlink_to("/dev/zero")
        (self.folder / "3.jpg").symlink_to("nothing")
        self.assertEqual(self.found(), ("image", 1, 5))

    def test_folders_below_folders(self):
        self.image("0.jpg")
        # More than Python recurses, also when it cleans up.
        folders = [self.folder]
        for _ in range(1200):
            folders.append(folders[-1] / "d")
            folders[-1].mkdir()
            self.addCleanup(folders[-1].rmdir)
        self.assertEqual(self.found(), ("image", 1, 5))

    def test_each_folder_is_looked_into_once(self):
        folders = 40
        for i in range(folders):
            self.image(str(i), "0.jpg")
            for j in range(folders):
                os.symlink(f"../{j}", self.folder / str(i) / f"to{j}")
        most = folders * (folders + 2)
        self.assertEqual(self.found(most=most)[1], folders)

    def test_a_limit_of_entries_holds_for_folders_too(self):
        for i in range(20):
            (self.folder / f"{i}").mkdir()
        self.image("z", "0.jpg")
        self.assertIsNone(self.found(most=5))


if __name__ == "__main__":
    unittest.main()
