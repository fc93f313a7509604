#!/usr/bin/env python3
"""Compares mixture settings that run alternately.

    feedrate study --output=DIR [--rounds=6] [--steps=160] [--minutes=N] [STUDY]

A study is a config under configs/mixture/studies: one axis, its values compared
with the first of them. Without a name, all of them run. In every round each
setting runs once, in a new random order, so that slow drift in machine speed
affects all settings equally; a single run of each can show a difference that is
not there. Takeaways are ratios of samples per second within rounds: the
Hodges-Lehmann estimate and the exact interval of signed ranks, at least 95%
sure, which takes at least six rounds. With --minutes, studies share the time:
one whose part is over stops, and its takeaways say after how many rounds.

Rows and batches go to DIR, takeaways to standard output and DIR/takeaways.txt,
the best settings to DIR/best.jsonl: each a JSON object of its settings, the
fastest first.
"""

import argparse
import collections
import dataclasses
import itertools
import json
import math
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# A bundle has this file in libexec, a checkout in tools/mixture.
BUNDLE = HERE.parent if HERE.name == "libexec" else None
ROOT = BUNDLE or HERE.parents[1]
STUDIES = ROOT / "configs/mixture/studies"
# Below this a difference is of no interest, whatever its interval.
INTEREST = 0.05
CONFIDENCE = 0.95
CPUS = "cpus"
# Of `mixture`: SIGINT ended it, and what it wrote is whole.
INTERRUPTED = 130


@dataclasses.dataclass
class Setting:
    """One point of a study: a job, or a job on so many processors."""

    study: str
    name: str
    job: dict
    # Empty: all that we may use.
    cpus: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)

    def failure(self):
        """Why it is not compared: the reason of its first run that failed, or
        that there is none. Empty: all were good."""
        if not self.rows:
            return "it has no rows"
        return next(
            (row["reason"] for row in self.rows if row["status"] != "ok"), ""
        )

    def speeds(self):
        return list(self.speed_by_round().values())

    def speed_by_round(self):
        return {
            row["run_index"]: row["mixture"]["samples_per_s"]
            for row in self.rows
        }

    def skipped(self):
        return sum(row["mixture"].get("skipped", 0) for row in self.rows)

    def median(self, field):
        """The median over rounds of a number in the rows' `mixture`."""
        return statistics.median(row["mixture"][field] for row in self.rows)


def signed_rank_interval(values, confidence=CONFIDENCE):
    """(estimate, low, high) of the center of `values`; None where they are too
    few for the confidence. Exact where no two sums tie."""
    count = len(values)
    means = sorted(
        (a + b) / 2
        for a, b in itertools.combinations_with_replacement(values, 2)
    )
    # Ways to reach each sum of ranks by choosing signs.
    ways = [1]
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for place, number in enumerate(ways):
            longer[place + rank] += number
        ways = longer
    allowed = (1 - confidence) / 2 * 2**count
    cut, below = 0, 0
    while below + ways[cut] <= allowed:
        below += ways[cut]
        cut += 1
    if cut == 0:
        return None
    return statistics.median(means), means[cut - 1], means[-cut]


@dataclasses.dataclass
class Comparison:
    """How often as fast as the first setting, with its interval."""

    ratio: float
    low: float
    high: float

    @property
    def verdict(self):
        if self.low > 1 and self.ratio > 1 + INTEREST:
            return "faster"
        if self.high < 1 and self.ratio < 1 - INTEREST:
            return "slower"
        if self.low > 1 - INTEREST and self.high < 1 + INTEREST:
            return "the same"
        return "cannot tell"

    @property
    def text(self):
        return (
            f"{self.ratio:.3f}x ({self.low:.3f} to {self.high:.3f}):"
            f" {self.verdict}"
        )


def compare_speeds(first, other):
    """Compares the speeds of two settings in the rounds that both have. None:
    too few rounds."""
    rounds = sorted(first.keys() & other.keys())
    logs = [math.log(other[number] / first[number]) for number in rounds]
    found = signed_rank_interval(logs) if logs else None
    return None if found is None else Comparison(*map(math.exp, found))


def takeaways(settings, rounds=0):
    """Lines about the settings of one study that was to have so many rounds; 0:
    as many as it has."""
    good = [one for one in settings if not one.failure()]
    first = good[0] if good else settings[0]
    lines = [f"{first.study}: against {first.name}"]
    for one in settings:
        if one.failure():
            lines.append(f"  {one.name}: failed: {one.failure()}")
            continue
        speed = statistics.median(one.speeds())
        text = (
            f"  {one.name}: {speed:,.0f} samples/s, batch p50"
            f" {1e3 * one.median('batch_p50_s'):.1f} ms, p99"
            f" {1e3 * one.median('batch_p99_s'):.1f} ms, mixture error"
            f" {100 * one.median('mixture_error'):.1f}%, switch rate"
            f" {100 * one.median('dominant_switch_rate'):.0f}%"
        )
        if one is not first:
            found = compare_speeds(first.speed_by_round(), one.speed_by_round())
            text += (
                "; too few rounds to compare"
                if found is None
                else f"; {found.text}"
            )
        if one.skipped():
            text += f"; skipped {one.skipped()} that cannot be used"
        lines.append(text)
    labels = {label for s in settings for r in s.rows for label in r["labels"]}
    if "indicative" in labels:
        lines.append("  indicative: fewer steps than a decision needs")
    fewest = min(len(one.rows) for one in settings)
    if fewest < rounds:
        lines.append(
            f"  its time was over after {fewest} of {rounds} rounds; give it"
            " more --minutes"
        )
    return lines


def best_of(settings, count):
    """The fastest distinct settings that used all processors."""
    ranked = sorted(
        (s for s in settings if s.study != CPUS and not s.failure()),
        key=lambda s: -statistics.median(s.speeds()),
    )
    best = []
    for one in ranked:
        found = {
            "library": one.job["library"],
            "settings": one.job["settings"],
            "samples_per_s": statistics.median(one.speeds()),
            "from": f"{one.study}: {one.name}",
        }
        if all(found["settings"] != other["settings"] for other in best):
            best.append(found)
    return best[:count]


def with_steps(text, steps, warmup):
    """The config's text with other numbers of batches."""
    text = re.sub(r"(?m)^  (steps|warmup): \d+\n", "", text)
    added = f"mixture {{\n  steps: {steps}\n  warmup: {warmup}\n"
    return re.sub(r"(?m)^mixture \{\n", added, text)


def processor_sets():
    """The first 1, 2, 4, … of the processors we may use, and all."""
    usable = sorted(os.sched_getaffinity(0))
    counts = [2**i for i in range(len(usable).bit_length())]
    counts = [c for c in counts if c < len(usable)] + [len(usable)]
    return [usable[:count] for count in counts]


def program(name):
    built = f"bazel-bin/tools/{name}/{name}"
    path = ROOT / (f"bin/{name}" if BUNDLE else built)
    if not path.exists():
        remedy = f"dev/bazel.sh build //tools/{name}"
        if BUNDLE:
            remedy = "use a bundle that has it"
        sys.exit(f"study: {path} is missing; {remedy}")
    return str(path)


def settings_of(study, flags, config):
    """The points of a study, from what `plan` says of its config."""
    command = [program("plan"), *common_flags(config, flags)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"plan cannot read {config}")
    lines = map(json.loads, done.stdout.splitlines())
    jobs = [line for line in lines if line["record"] == "job"]
    if study == CPUS:
        return [
            Setting(study, f"{len(cpus)} processors", jobs[0], cpus)
            for cpus in processor_sets()
        ]
    axis = re.search(r'sweep \{\s*name: "(\w+)"', config.read_text()).group(1)
    return [
        Setting(study, f"{axis} {job['settings'].get(axis, 'as it is')}", job)
        for job in jobs
    ]


def common_flags(config, flags):
    found = [f"--config={config}", f"--num_runs={flags.rounds}"]
    return found + ([f"--dataset={flags.dataset}"] if flags.dataset else [])


def run_mixture(arguments, output, until, cpus=None):
    """The rows that the program prints, by job; all it prints is appended to
    the file `output`. Interrupts it at the time `until`. Exits where it fails;
    rows tell of runs that did."""
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    # Rounds that one setting has and the first has not compare nothing.
    whole = [program("mixture"), *arguments, "--stable_within=0", "--output=-"]
    late = False
    with subprocess.Popen(
        whole, stdout=subprocess.PIPE, text=True, preexec_fn=pin
    ) as process:
        try:
            left = None if until is None else max(1, until - time.monotonic())
            printed, _ = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            late = True
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate()
    code = process.returncode
    with open(output, "a") as file:
        file.write(printed)
    # 3: some data cannot be used, and the takeaways say so.
    if code not in (0, 3) and not (late and code == INTERRUPTED):
        sys.exit(f"mixture: exit {code}")
    rows = collections.defaultdict(list)
    for record in map(json.loads, printed.splitlines()):
        if record["record"] == "row" and record["library"] != "null":
            rows[record["job_id"]].append(record)
    return rows


def run_study(study, flags, folder, until):
    text = (STUDIES / f"{study}.textproto").read_text()
    config = folder / f"{study}.textproto"
    config.write_text(with_steps(text, flags.steps, flags.warmup))
    settings = settings_of(study, flags, config)
    output = flags.output / f"{study}.jsonl"
    output.unlink(missing_ok=True)
    if study == CPUS:
        run_on_processors(settings, flags, config, output, until)
        return settings
    # The program lets the settings of a sweep take turns by itself.
    rows = run_mixture(common_flags(config, flags), output, until)
    for setting in settings:
        found = rows[setting.job["job_id"]]
        setting.rows = sorted(found, key=lambda row: row["run_index"])
    return settings


def said_of(text):
    """Label and note of a config's text, as flags."""
    return [
        f"--{name}={value}"
        for name, value in re.findall(r'(?m)^(label|note): "(.*)"$', text)
    ]


def run_on_processors(settings, flags, config, output, until):
    """A round at a time, in another order each: processors are the program's
    own, so it cannot take turns with them."""
    draw = random.Random(flags.seed)
    jobs = config.with_suffix(".jsonl")
    # With --config all runs of the job would be done each time.
    arguments = [f"--jobs={jobs}", *said_of(config.read_text())]
    if flags.dataset:
        arguments.append(f"--dataset={flags.dataset}")
    for number in range(flags.rounds):
        for setting in draw.sample(settings, len(settings)):
            if until is not None and time.monotonic() >= until:
                return
            job = setting.job | {"run_indexes": [number]}
            jobs.write_text(json.dumps(job) + "\n")
            rows = run_mixture(arguments, output, until, setting.cpus)
            setting.rows += rows[setting.job["job_id"]]


def check_minutes(parser, flags):
    if not 0 <= flags.minutes < math.inf:
        parser.error("--minutes must be 0 (no limit) or more")


def parse_flags():
    known = sorted(path.stem for path in STUDIES.glob("*.textproto"))
    parser = argparse.ArgumentParser(
        prog="feedrate study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--warmup", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes", type=float, default=0, help="limit; 0 (default): none"
    )
    parser.add_argument("--dataset", default="")
    parser.add_argument("--best", type=int, default=3)
    parser.add_argument("studies", nargs="*", metavar="STUDY", default=known)
    flags = parser.parse_args()
    for study in flags.studies:
        if study not in known:
            parser.error(f"no study {study}; there are {', '.join(known)}")
    check_minutes(parser, flags)
    return flags


def main():
    flags = parse_flags()
    flags.output.mkdir(parents=True, exist_ok=True)
    lines, every = [], []
    end = time.monotonic() + 60 * flags.minutes if flags.minutes else None
    with tempfile.TemporaryDirectory() as folder:
        for number, study in enumerate(flags.studies):
            until = None
            if end is not None:
                now = time.monotonic()
                until = now + max(0, end - now) / (len(flags.studies) - number)
            settings = run_study(study, flags, pathlib.Path(folder), until)
            every += settings
            found = takeaways(settings, flags.rounds)
            print("\n".join(found), flush=True)
            lines += found
    (flags.output / "takeaways.txt").write_text("\n".join(lines) + "\n")
    best = best_of(
        [s for s in every if s.job["library"] == "native"], flags.best
    )
    with open(flags.output / "best.jsonl", "w") as file:
        for one in best:
            file.write(json.dumps(one) + "\n")
    return 3 if any(one.failure() for one in every) else 0


if __name__ == "__main__":
    sys.exit(main())
