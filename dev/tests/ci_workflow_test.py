"""What flags and the events of GitHub make of a workflow."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
from unittest import mock

import ci_workflow


def written(*flags):
    """The workflow, or the one line that refuses it."""
    out = io.StringIO()
    words = ["ci_workflow.py", "--command=./b", "--bundle=x", *flags]
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(out):
        try:
            ci_workflow.main()
        except SystemExit as end:
            return str(end)
    return out.getvalue()


class CiWorkflowTest(unittest.TestCase):
    def test_runners_are_labels(self):
        for label in ("ubuntu-24.04", "[self-hosted, gpu]"):
            self.assertIn(f"runs-on: {label}\n", written(f"--runner={label}"))
        for text in ("u\n    permissions: write-all", "a: b", "{a: b}", "x\n"):
            for flag in ("runner", "baseline-runner"):
                self.assertRegex(
                    written(f"--{flag}={text}"),
                    rf"^ci_workflow.py: --{flag}: write a label.*\Z",
                )

    def duel(self, **env):
        """The flags that the step gives to duel, or None where it ends."""
        script = f'duel() {{ echo "$@"; }}\n{ci_workflow.DUEL}'
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            env={**os.environ, "METRICS": "time", **env},
            capture_output=True,
            text=True,
        )
        return done.stdout if done.returncode == 0 else None

    def test_forks_are_not_trusted(self):
        sides = {"A": "./a {seed}", "B": "./b {seed}"}
        for from_, word, distrusts in (
            ("o/p", "auto", False),
            ("x/p", "auto", True),
            ("o/p", "true", True),
            ("x/p", "false", False),
            # Its fork is gone: FROM is the commit.
            ("0123456789", "auto", True),
        ):
            flags = self.duel(
                GITHUB_REPOSITORY="o/p", FROM=from_, DISTRUST=word, **sides
            )
            self.assertEqual("--distrust" in flags, distrusts, (from_, word))
        self.assertIn("head.repo.full_name || github", ci_workflow.FROM)

    def test_words_that_mean_nothing_are_refused(self):
        for word in ("yes", "True", "1", ""):
            self.assertIsNone(self.duel(A="a", B="b", FROM="", DISTRUST=word))


if __name__ == "__main__":
    unittest.main()
