"""What the end-to-end tests of runners share: jobs, a run, its records."""

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

MICRO = "tools/micro/micro"


def job(transform, run_indexes=(0,), library="faulty", **settings):
    """A job of a library that is in no matrix; its settings are parameters."""
    text = json.dumps([library, transform, settings], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {
        "schema": 1,
        "record": "job",
        "job_id": digest[:16],
        "scenario": "image-rgb",
        "mode": "micro",
        "scope": "augmentation_only",
        "library": library,
        "transform": transform,
        "device": "cpu",
        "num_items": 8,
        "thread_policy": "micro-single",
        "dataset": "synthetic:rgb,n=8,seed=3",
        "settings": {name: str(value) for name, value in settings.items()},
        "run_indexes": list(run_indexes),
        "hardware_class": "cpu",
        "output": f"image-rgb/micro/{library}_micro_results.jsonl",
    }


class Run:
    """One call of a program that has ended."""

    def __init__(self, command, jobs=(), timeout=300, **options):
        done = subprocess.run(
            command,
            input=lines(jobs),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **{"env": environment(), **options},
        )
        self.code = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr

    @functools.cached_property
    def records(self):
        return [json.loads(line) for line in self.stdout.splitlines()]


class TestCase(unittest.TestCase):
    """A test with a folder, which leaves no worker behind."""

    def setUp(self):
        self.folder = new_folder()

    def tearDown(self):
        # The kernel may take a moment to end what was killed.
        deadline = time.monotonic() + 5
        while workers_left() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(workers_left(), [])


def new_folder():
    return pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))


def rows_of(records, library=None):
    """The rows of a library; by default of all but the null adapter."""
    return [
        r
        for r in records
        if r["record"] == "row"
        and (r["library"] == library if library else r["library"] != "null")
    ]


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def environment():
    cache = os.environ.get("TEST_TMPDIR", tempfile.gettempdir())
    workers = str(pathlib.Path.cwd())
    return {
        **os.environ,
        "FEEDRATE_WORKERS": workers,
        "XDG_CACHE_HOME": cache,
        "HOME": cache,
    }


def lines(jobs):
    return "".join(json.dumps(j) + "\n" for j in jobs)


SPIN = """import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.write(1, b"!")
while 1: 0
"""


@contextlib.contextmanager
def load():
    """Keeps every processor busy, and the first one twice more.

    This process and its children run on the first one, so that they must wait
    for a processor on a machine of any size.
    """
    processors = sorted(os.sched_getaffinity(0))
    busy = []
    try:
        for processor in [processors[0], processors[0], *processors]:
            command = [sys.executable, "-c", SPIN, str(processor)]
            busy.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        for process in busy:
            process.stdout.read(1)
        os.sched_setaffinity(0, processors[:1])
        yield
    finally:
        os.sched_setaffinity(0, processors)
        for process in busy:
            process.kill()
            process.communicate()


# A machine that runs tests is never quiet, and tests count runs.
PLANNED_RUNS = ["--quiet_wait=0", "--stable_within=0"]


def micro(jobs, *flags, timeout=300):
    run = Run([MICRO, *PLANNED_RUNS, *flags], jobs, timeout)
    # Every line must parse: that is part of every test.
    run.rows = rows_of(run.records, "faulty")
    return run


def start(jobs, *flags):
    """Starts micro and leaves it running."""
    process = subprocess.Popen(
        [MICRO, *PLANNED_RUNS, *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    process.stdin.write(lines(jobs))
    process.stdin.close()
    return process


def workers_left():
    """Processes of our own workers that are still there."""
    left = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue
        ours = str(pathlib.Path.cwd()).encode()
        if ours in command and b"worker_" in command and state != "Z":
            left.append(folder.name)
    return left
