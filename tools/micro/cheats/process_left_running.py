"""Starts a process that keeps the machine busy for whoever is measured next."""

import subprocess
import sys

import honest

OUTCOME = "caught"
WHY = "processes below it are looked for after the calls"
_started = []


def sharpen(image):
    if not _started:
        code = (
            "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
        )
        _started.append(subprocess.Popen([sys.executable, "-c", code]))
    return honest.sharpen(image)
