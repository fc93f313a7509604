"""What a program of a bundle starts (tools/programs/start.c)."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The executable of many programs, as far as it goes here.
NEXT = """\
#include <stdio.h>
int main(int argc, char** argv) { printf("%s", argv[0]); }
"""


class StartTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.plan = self.root / "bundle/bin/plan"
        self.plan.parent.mkdir(parents=True)
        self.make_next(self.root / "bundle/libexec")
        start = [
            # As in dev/bundle.sh.
            *("-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns"),
            *("-fno-stack-protector", "-static", "-nostdlib", "-no-pie"),
            *("-fno-pie", '-DNEXT="next"'),
            ROOT / "tools/programs/start.c",
        ]
        subprocess.run(["cc", *start, "-o", self.plan], check=True)

    def make_next(self, folder):
        folder.mkdir(parents=True)
        source = self.root / "next.c"
        source.write_text(NEXT)
        command = ["cc", "-static", "-o", folder / "next", source]
        subprocess.run(command, check=True)

    def name(self, called):
        return subprocess.run(
            [called], executable=self.plan, stdout=subprocess.PIPE, check=True
        ).stdout.decode()

    def test_it_says_its_own_name(self):
        for called in ("plan", "/x/plan", str(self.plan)):
            self.assertEqual(self.name(called), called)
        for called in ("micro", "/x/micro", "plan2", "pla", "", "/"):
            self.assertEqual(self.name(called), str(self.plan), called)

    def test_without_proc_it_starts_nothing(self):
        # Beside the current folder.
        self.make_next(self.root / "libexec")
        (self.root / "here").mkdir()
        # Within a chroot nobody may become root so, but root is it already.
        become_root = [] if os.geteuid() == 0 else ["unshare", "-r"]
        done = subprocess.run(
            [*become_root, "sh", "-c", "cd here && chroot .. bundle/bin/plan"],
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        self.assertNotIn("plan", done.stdout)
        self.assertEqual(done.returncode, 2, done)


if __name__ == "__main__":
    unittest.main()
