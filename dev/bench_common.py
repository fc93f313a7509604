"""Shared parts of the benchmark scripts: turns, intervals, processes, rows.

Scripts elsewhere in the tree put this folder on sys.path first. Only the
standard library is used, because they run in environments of many libraries.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
}


def parser(doc):
    """A flag parser whose --help is the script's docstring."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def take_turns(sides, source):
    """Calls each side once, in an order that `source` (random.Random) shuffles,
    so that slow drift in machine speed affects all sides equally. `sides` maps
    names to calls; returns {name: result}."""
    order = source.sample(sorted(sides), len(sides))
    return {name: sides[name]() for name in order}


def alternate(sides, number):
    """Like take_turns; the sides go in their order in rounds of an even
    `number` and backwards in the others."""
    order = list(sides)[:: -1 if number % 2 else 1]
    return {name: sides[name]() for name in order}


def ratios(above, below):
    """One ratio per round."""
    return [a / b for a, b in zip(above, below, strict=True)]


def interval(values, source=None, draws=2000):
    """(median, low, high): the median with its 95% bootstrap interval. The
    draws come from `source`, by default one with a fixed seed."""
    source = source or random.Random(1)
    medians = sorted(
        statistics.median(source.choices(values, k=len(values)))
        for _ in range(draws)
    )
    outside = draws // 40
    return statistics.median(values), medians[outside], medians[-1 - outside]


def interval_text(values, bar):
    middle, low, high = interval(values)
    return (
        f"{middle:.3f} [{low:.3f}, {high:.3f}] over {len(values)} pairs;"
        f" bar {bar}"
    )


def wall_s(command):
    """Seconds that a command takes. Its standard output is dropped."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def resources(command, **options):
    """(seconds, rusage) of a command. Exits when the command fails."""
    start = time.perf_counter()
    child = subprocess.Popen(command, **options)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - start, usage


def environment(lock, needed=True):
    """The Python environment of a lock file (its path from the root), made
    first if need be. When it cannot be made: exits, or None if not needed.
    $FEEDRATE_BENCH_ENV names one to use for every lock, on machines without a
    package index."""
    ready = os.environ.get("FEEDRATE_BENCH_ENV")
    if ready:
        return ready
    done = subprocess.run(
        [ROOT / "dev/python_env.sh", ROOT / lock],
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0 and needed:
        sys.exit(f"no environment of {lock}")
    return done.stdout.strip() if done.returncode == 0 else None


class RepeatedKeyError(Exception):
    """Not a ValueError: nobody may take it for a line that was cut off."""


def _once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RepeatedKeyError(f'"{twice}" is there twice; which one counts?')
    return found


def strict_loads(text):
    """As json.loads; RepeatedKeyError if an object has a key twice. Python's
    own reader takes the last of the two, others the first."""
    return json.loads(text, object_pairs_hook=_once)


def rows_of(text):
    """The rows in JSON lines, without those of the null adapter."""
    records = map(strict_loads, text.splitlines())
    return [
        r for r in records if r["record"] == "row" and r["library"] != "null"
    ]


def read_records(path):
    """The JSON lines of a file that an earlier call wrote; none if it is
    missing. Skips lines that were cut off while they were written, and ends
    such a last line, so that more can be appended."""
    text = path.read_text() if path.exists() else ""
    if text and not text.endswith("\n"):
        with path.open("a") as out:
            out.write("\n")
    records = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            records.append(strict_loads(line))
    return records


class Ended(RuntimeError):
    """A process ended instead of answering."""

    def __init__(self, name, process):
        super().__init__(f"{name} ended")
        self._process = process

    @property
    def code(self):
        return self._process.wait()


class Asked:
    """A process that answers each line with one line of JSON."""

    def __init__(self, name, command, **options):
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )

    def ask(self, line=""):
        """Raises Ended where there is no answer."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Ended(self.name, self.process)
        return json.loads(answer)

    def close(self):
        """Kills the process when it does not end by itself."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
