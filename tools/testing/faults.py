#!/usr/bin/env python3
"""Breaks programs in mid-flight, in seeded scenarios; looks at what is left.

    tools/testing/faults.py [--scenarios=200] [--seed=1] [--only=CASE[/FAULT]]

Every program that keeps state runs under tools/testing/injector.py: it is
killed at one of its writes (or renames, or any other change), before it or
halfway through, or the disk is full from there on or for one call, or another
process runs on the same files in the middle of it, or the clock jumps, or the
store changes its objects. Then every file must be the old one or the new one as
a whole, and the next run must make what an undisturbed run makes. Prints a
table by program and fault, as in docs/security.md, and each scenario that fails
with what repeats it.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import errno
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import changing_store
import injector
from fault_cases import (
    PHOTOS,
    ROOT,
    Baselines,
    Cache,
    Campaign,
    Careless,
    Checkpoint,
    JpegIndex,
    Page,
    Rows,
    Shards,
    Staging,
    Wrong,
)

# Another process on the same files may wait for the first.
OTHER_S = 0.2
# On a busy machine, too.
LIMIT_S = 600


class Scenario:
    def __init__(self, case, fault, number, events, home):
        self.case, self.fault, self.number = case, fault, number
        self.events, self.home = events, home
        self.others = []

    def decide(self, event, number):
        if number < self.number:
            return injector.CONTINUE
        if self.fault == "full disk" and event.name in injector.GROWS:
            return errno.ENOSPC
        if number > self.number:
            return injector.CONTINUE
        if self.fault == "kill":
            return injector.KILL
        if self.fault == "kill halfway":
            return injector.HALF
        if self.fault == "full once" and event.name in injector.GROWS:
            return errno.ENOSPC
        if self.fault == "two processes":
            self.start_other()
        return injector.CONTINUE

    def start_other(self):
        other = subprocess.Popen(
            self.case.command(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.case.env},
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            other.wait(OTHER_S)
        self.others.append(other)

    def run(self, decide=None, preload=None):
        env = {**os.environ, **self.case.env}
        if preload:
            env["LD_PRELOAD"] = preload
            env["JUMP_AT"] = str(self.number)
        return injector.run(
            self.case.command(self.home),
            str(self.home),
            decide or (lambda *_: injector.CONTINUE),
            LIMIT_S,
            env,
        )

    def look(self, old, new, clock):
        case = self.case
        if self.fault == "store changes":
            case.store.restart(self.number % 10)
        broken = self.run(
            self.decide, clock if self.fault == "clock jumps" else None
        )
        for other in self.others:
            _, errors = other.communicate(timeout=LIMIT_S)
            if other.returncode not in (0, 1, 2):
                raise Wrong(f"the other: exit {other.returncode}: {errors}")
        if broken.timed_out:
            raise Wrong("it hangs")
        case.check(self.home, old, new)
        says = broken.errors.strip().rpartition("\n")[2]
        if self.fault.startswith("full"):
            happened = "No space" in broken.errors
            if broken.code not in (0, 2) or (broken.code == 2 and not happened):
                raise Wrong(f"exit {broken.code}: {says}")
            if broken.code == 0 and not case.may_go_on:
                # It did not need what failed, so all is there.
                if case.files(self.home) != new:
                    raise Wrong("done on a full disk, and not all is there")
        elif not broken.killed and broken.code not in (
            (0,) if self.fault == "clock jumps" else (0, 1, 2)
        ):
            raise Wrong(f"exit {broken.code}: {says}")
        # The next run repairs.
        if case.only_new and case.files(self.home) == new:
            return
        case.before_next(self.home)
        if self.fault == "store changes":
            case.store.restart(0)
            new = case.version(1)
        again = self.run()
        if again.code != 0:
            raise Wrong(
                f"the next run: exit {again.code}: {again.errors[-300:]}"
            )
        found = case.files(self.home)
        if found != new:
            odd = sorted(set(found.items()) ^ set(new.items()))[:3]
            raise Wrong(f"the next run makes other files: {odd}")


CLOCK = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* The wall clock is five hours off from the JUMP_AT-th look on: ahead if that
   is even, else behind. */
int clock_gettime(clockid_t id, struct timespec *t) {
  static int looks;
  const int result = (int)syscall(SYS_clock_gettime, id, t);
  const char *at = getenv("JUMP_AT");
  if (id == CLOCK_REALTIME && at && __sync_fetch_and_add(&looks, 1) >= atoi(at))
    t->tv_sec += atoi(at) % 2 ? -18000 : 18000;
  return result;
}
"""

FAULTS = [
    "kill",
    "kill halfway",
    "full disk",
    "full once",
    "two processes",
    "clock jumps",
    "store changes",
]


def clock_library(work):
    """A library that makes the clock jump; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source = work / "clock.c"
    source.write_text(CLOCK)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", work / "clock.so"]
    subprocess.run([*command, source], check=True)
    return str(work / "clock.so")


def undisturbed(case, template, home):
    """(number of events, files before, files after) without a fault."""
    shutil.rmtree(template, ignore_errors=True)
    case.prepare(template)
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template, home)
    old = case.files(home)
    outcome = Scenario(case, "", 0, 0, home).run()
    if outcome.code != 0:
        sys.exit(f"{case.name}: exit {outcome.code}: {outcome.errors}")
    return outcome.events, old, case.files(home)


def table(counts, names, seconds):
    used = [f for f in FAULTS if any(counts[name, f] for name in names)]
    yield "| program | " + " | ".join(used) + " |"
    yield "|---|" + "---:|" * len(used)
    for name in names:
        numbers = [str(counts[name, fault] or "") for fault in used]
        yield f"| {name} | " + " | ".join(numbers) + " |"
    yield ""
    yield f"{sum(counts.values()):,} scenarios, {seconds:.0f} s"


def faults_of(case, clock):
    faults = FAULTS[:5]
    # Static programs load no library.
    if clock and case.name != "stage_dataset":
        faults = [*faults, "clock jumps"]
    if hasattr(case, "store"):
        faults = [*faults, "store changes", "store changes"]
    return faults


def cases_of(flags, store, url):
    cases = [
        Staging(),
        Baselines(),
        Shards(),
        JpegIndex(),
        Page(),
        Campaign(),
        Rows(),
        Cache(store, url),
    ]
    if (ROOT / "bazel-bin/lib/model/worker/worker_train").exists():
        cases.append(Checkpoint())
    only = flags.only.partition("/")[0]
    if only == Careless.name:
        return [Careless()]
    return [case for case in cases if only in case.name]


def run_part(flags, work, part):
    """Every flags.jobs-th scenario, from `part` on: (counts by program and
    fault, numbers of those that fail)."""
    work.mkdir(exist_ok=True)
    objects = {}
    pictures = sorted(PHOTOS.glob("*.bmp"))
    for i in range(4):
        objects[f"{i}.bmp"] = [
            p.read_bytes() for p in pictures[2 * i : 2 * i + 2]
        ]
    store = changing_store.Store(objects)
    counts, failed, known = collections.Counter(), [], {}
    only_fault = flags.only.partition("/")[2]
    with changing_store.serving(store) as url:
        cases = cases_of(flags, store, url)
        clock = clock_library(work)
        begin = part + -(-max(flags.first - part, 0) // flags.jobs) * flags.jobs
        for number in range(begin, flags.scenarios, flags.jobs):
            dice = random.Random(f"{flags.seed} {number}")
            case = dice.choices(cases, [case.share for case in cases])[0]
            fault = dice.choice(
                [f for f in faults_of(case, clock) if only_fault in f]
            )
            template, home = work / case.name.split()[0], work / "home"
            if case.name not in known:
                known[case.name] = undisturbed(case, template, home)
            events, old, new = known[case.name]
            at = dice.randrange(max(events, 1))
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(template, home)
            if hasattr(case, "store"):
                case.store.restart()
            try:
                Scenario(case, fault, at, events, home).look(old, new, clock)
            except Wrong as wrong:
                failed.append(number)
                print(
                    f"WRONG {number}: {case.name}, {fault} at change {at}"
                    f" of {events}: {wrong}",
                    flush=True,
                )
                if flags.keep:
                    break
            counts[case.name, fault] += 1
    return counts, failed


def run_all(flags, work):
    started = time.monotonic()
    counts, failed = collections.Counter(), []
    with concurrent.futures.ProcessPoolExecutor(flags.jobs) as pool:
        parts = [
            pool.submit(run_part, flags, work / f"part{i}", i)
            for i in range(flags.jobs)
        ]
        for part in parts:
            some, wrong = part.result()
            counts += some
            failed += wrong
    names = list(dict.fromkeys(name for name, _ in sorted(counts)))
    for line in table(counts, names, time.monotonic() - started):
        print(line)
    print(f"{len(failed)} wrong" + (f": {sorted(failed)}" if failed else ""))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[2]
    )
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, help="skip those before"
    )
    parser.add_argument("--only", default="", help="CASE or CASE/FAULT: a part")
    parser.add_argument(
        "--jobs", type=int, default=2 * os.cpu_count(), help="at a time"
    )
    parser.add_argument("--keep", help="FOLDER: stop at the first wrong one")
    flags = parser.parse_args()
    if flags.keep:
        pathlib.Path(flags.keep).mkdir(parents=True, exist_ok=True)
        sys.exit(run_all(flags, pathlib.Path(flags.keep).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run_all(flags, pathlib.Path(folder).resolve()))


if __name__ == "__main__":
    try:
        main()
    except injector.NoFilter as error:
        print(error)
        sys.exit(77)
