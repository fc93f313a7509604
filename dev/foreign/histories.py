"""Steps in histories of benchmark results: compare_baseline --history beside
Apache Otava, MongoDB's algorithm (E-divisive, as Otava has it) and ruptures,
run on the same values.

The series of testdata/history say which steps were made. A case is equal if we
report these and no others; explained if we report others, but no more than each
of the three; else unexplained.
"""

import json
import math
import pathlib
import random
import subprocess
import tempfile

import numpy as np
import outcome
import ruptures
from otava.analysis import compute_change_points, compute_change_points_orig

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPARE = ROOT / "bazel-bin/tools/compare_baseline/compare_baseline"
SERIES = ROOT / "testdata/history/series.jsonl"
LIMIT_S = 100
PAGE = "docs/foreign.md"
# A report is right up to here.
NEAR_COMMITS = 2
NEAR_PERCENT = 3
# Values of a series are logarithms.
LEVEL_S = 1.0


def known():
    lines = SERIES.read_text().splitlines()
    return {one["name"]: one for one in map(json.loads, lines)}


def drawn(number):
    """A series that nobody tuned anything on: 60 to 200 commits, noise of 0.5
    to 3%, up to three steps of at least eight times the noise."""
    dice = random.Random(f"history {number}")
    count, noise = dice.randrange(60, 200), dice.uniform(0.005, 0.03)
    values, steps, level = [], [], 0.0
    places = sorted(dice.sample(range(10, count - 10), dice.randrange(4)))
    places = [
        p for i, p in enumerate(places) if i == 0 or p - places[i - 1] > 9
    ]
    for i in range(count):
        if i in places:
            step = dice.choice((-1, 1)) * dice.uniform(8, 20) * noise
            level += step
            steps.append([i, 100 * math.expm1(step)])
        values.append(level + dice.gauss(0, noise))
    return {"values": values, "steps": steps}


def cases(folder):
    return [*known(), *(f"drawn {i}" for i in range(100))]


def ours(values):
    """[(commit, percent)]"""
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, "h.jsonl")
        with path.open("w") as file:
            for i, value in enumerate(values):
                env = {"revision": str(i)}
                row = {
                    "schema": 1,
                    "record": "row",
                    "job_id": "j",
                    "mode": "micro",
                    "library": "l",
                    "transform": "t",
                    "device": "cpu",
                    "status": "ok",
                    "machine_profile": "m",
                    "samples_s": [LEVEL_S * math.exp(value)],
                }
                first = {"schema": 1, "record": "env", "git": env}
                print(json.dumps(first), json.dumps(row), sep="\n", file=file)
        done = subprocess.run(
            [COMPARE, f"--history={path}"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    if done.returncode not in (0, 3):
        raise RuntimeError(f"exit {done.returncode}: {done.stderr}")
    rows = (json.loads(line) for line in done.stdout.splitlines())
    points = [one for one in rows if one["record"] == "change_point"]
    # Without what a change that went away has left behind: its end says so.
    return [
        (one["index"], one["percent"])
        for one in points
        if int(one["before"]) + 1 == one["index"]
    ]


def otava(values):
    # 0.8.0 loses points of arrays of numpy, or fails.
    points, _ = compute_change_points([math.exp(value) for value in values])
    return [
        (p.index, 100 * (p.stats.mean_2 / p.stats.mean_1 - 1)) for p in points
    ]


def levels(values, places):
    """Steps at these places, by the means of what is between them."""
    edges = [0, *places, len(values)]
    means = [
        float(np.mean(values[a:b]))
        for a, b in zip(edges, edges[1:], strict=False)
    ]
    return [
        (place, 100 * math.expm1(means[i + 1] - means[i]))
        for i, place in enumerate(places)
    ]


def mongodb(values):
    """E-divisive with MongoDB's limits: 5% by 100 permutations."""
    signal = [math.exp(value) for value in values]
    points, _ = compute_change_points_orig(signal, max_pvalue=0.05, seed=1)
    return levels(values, [p.index for p in points])


def pelt(values):
    """ruptures, with the usual penalty."""
    signal = np.array(values)
    noise = np.median(np.abs(np.diff(signal))) / 0.954
    penalty = 2 * max(noise, 1e-6) ** 2 * math.log(len(values))
    found = ruptures.Pelt(model="l2", min_size=2).fit(signal).predict(penalty)
    return levels(values, found[:-1])


def wrong(found, steps):
    """How many of `found` are none of `steps`."""
    left, count = list(steps), 0
    for place, percent in found:
        near = [
            one
            for one in left
            if abs(one[0] - place) <= NEAR_COMMITS
            and abs(one[1] - percent) <= NEAR_PERCENT
        ]
        if near:
            left.remove(near[0])
        else:
            count += 1
    return count


OTHERS = {"Otava": otava, "MongoDB": mongodb, "ruptures": pelt}


def compare(folder, case):
    name, _, number = case.partition(" ")
    one = drawn(int(number)) if number else known()[name]
    values, steps = one["values"], one["steps"]
    found = ours(values)
    missed, false = wrong(steps, found), wrong(found, steps)
    if not missed and not false:
        return outcome.equal()
    theirs = {name: find(values) for name, find in OTHERS.items()}
    worse = [
        f"{name} misses {wrong(steps, their)}, {wrong(their, steps)} wrong"
        for name, their in theirs.items()
        if wrong(steps, their) < missed or wrong(their, steps) < false
    ]
    said = f"we miss {missed} of {len(steps)}, {false} wrong: {found}"
    if worse:
        return outcome.unexplained(f"{said}; {'; '.join(worse)}")
    return outcome.explained(f"{said}; no other does better", PAGE)
