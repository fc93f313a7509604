"""Base class for the tests of remote stores."""

import hashlib
import pathlib
import tempfile
import unittest

from servers import store_cat

# Names that break clients with careless encoding.
ODD_NAMES = [
    "a b.bin",
    "a+b=c,d&e.bin",
    "100%25 20%.bin",
    "q?x=1#y.bin",
    "Ünï/写真 😀.bin",
    "quote'\"<>.bin",
    "~tilde-._*()!$;:@[].bin",
    "deep/er/and/deeper.bin",
]


def content(name, size=1000):
    return hashlib.shake_128(name.encode()).digest(size)


def md5(data):
    return hashlib.md5(data).hexdigest()


class RemoteCase(unittest.TestCase):
    """Runs store_cat and checks its output."""

    @classmethod
    def new_folder(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def run_cat(self, *arguments, env=None):
        done = store_cat(*arguments, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def digests(self, *arguments, env=None):
        """{name: MD5} of what was read."""
        done = self.run_cat("--digest", *arguments, env=env)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return {name: digest for digest, _, name in rows}

    def assert_fails(self, words, code, *arguments, env=None, hidden=()):
        """One line on stderr with all of `words`, and that exit code."""
        done = store_cat(*arguments, env=env)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        for secret in hidden:
            self.assertNotIn(secret, done.stderr + done.stdout)
        self.assertEqual(done.returncode, code, lines[0])
        self.assertEqual(done.stdout, "")
