#!/usr/bin/env python3
"""Compares `compare_baseline --history` with Apache Otava on generated series.

    dev/bazel.sh build //tools/compare_baseline
    tools/compare_baseline/bench_history.py --series=50

Each kind of series has steps that are known, so both programs can be judged. A
reported change is right if a step of the same sign is within two commits of it;
a step counts as found once. What ours says a burst left behind is right if the
levels before and after the burst differ so. Otava runs with its default window
and p-value, and with the smallest change that ours reports.

    cd testdata/history
    ../../tools/compare_baseline/bench_history.py --corpus=series.jsonl

writes a few series of each kind with their steps and Otava's answers; tests
hold FindSteps against them. The file depends on this script and Otava only.
"""

import collections
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "dev"))
import bench_common  # noqa: E402

PROGRAM = ROOT / "bazel-bin/tools/compare_baseline/compare_baseline"
# The smallest change that is reported, in percent.
SMALLEST = 2
NEAR = 2
PER_KIND_IN_CORPUS = 4

Series = collections.namedtuple("Series", "name kind values steps")


def level(steps, place):
    return sum(
        math.log1p(percent / 100) for at, percent in steps if at <= place
    )


def noisy(source, n, steps, sd=0.01):
    """Logarithms of times with normal noise, and steps of (place, percent)."""
    return [level(steps, i) + source.gauss(0, sd) for i in range(n)]


def a_step(source, n):
    percent = source.choice([-1, 1]) * source.uniform(6, 40)
    return (source.randrange(20, n - 20), percent)


def steady(source, n):
    return noisy(source, n, []), []


def one_step(source, n):
    steps = [a_step(source, n)]
    return noisy(source, n, steps), steps


def several_steps(source, n):
    places = sorted(source.sample(range(1, 5), 3))
    steps = [
        (place * n // 5, source.choice([-1, 1]) * source.uniform(8, 40))
        for place in places
    ]
    return noisy(source, n, steps), steps


def excursion(source, n):
    """A step that goes away."""
    percent = source.uniform(8, 40)
    first = source.randrange(20, n - 40)
    steps = [
        (first, percent),
        (first + source.randrange(8, 20), 100 / (1 + percent / 100) - 100),
    ]
    return noisy(source, n, steps), steps


def with_outliers(source, values, places):
    for place in places:
        values[place] += source.choice([-1, 1]) * source.uniform(1, 3)
    return values


def outliers_at_ends(source, n):
    steps = [a_step(source, n)]
    count = source.choice([1, 2])
    places = [i if source.random() < 0.5 else n - 1 - i for i in range(count)]
    return with_outliers(source, noisy(source, n, steps), places), steps


def spikes(source, n):
    steps = [a_step(source, n)] if source.random() < 0.5 else []
    places = range(source.randrange(10), n, 25)
    return with_outliers(source, noisy(source, n, steps), places), steps


def burst(source, n):
    """Every second commit of a stretch is far too slow."""
    steps = [a_step(source, n)]
    values = noisy(source, n, steps)
    first = source.randrange(10, n - 24)
    for place in range(first, first + 12, 2):
        values[place] += source.uniform(1, 3)
    return values, steps


def two_levels(source, n, stay=0.5):
    """Noise with two levels; `stay` is the chance to stay at a level."""
    values, high = noisy(source, n, [], 0.005), 0
    for i in range(n):
        high = high if source.random() < stay else 0.15 - high
        values[i] += high
    return values, []


def two_levels_sticky(source, n):
    return two_levels(source, n, 0.9)


def drift(source, n):
    """Slowly slower: no step, but every answer has some truth in it."""
    percent = source.uniform(5, 20)
    values = noisy(source, n, [])
    return [
        v + math.log1p(percent / 100) * i / n for i, v in enumerate(values)
    ], []


def ar_noise(source, n, steps=()):
    """Noise of which half is left at the next commit."""
    values, noise = [], 0
    for i in range(n):
        noise = 0.5 * noise + source.gauss(0, 0.01)
        values.append(level(steps, i) + noise)
    return values, list(steps)


def ar_noise_and_step(source, n):
    return ar_noise(source, n, [a_step(source, n)])


KINDS = [
    steady,
    one_step,
    several_steps,
    excursion,
    outliers_at_ends,
    spikes,
    burst,
    two_levels,
    two_levels_sticky,
    drift,
    ar_noise,
    ar_noise_and_step,
]


def make(kind, number, n=120):
    values, steps = kind(random.Random(f"{kind.__name__} {number}"), n)
    name = f"{kind.__name__}_{number}"
    # Six digits are read back exactly, whatever writes them.
    return Series(name, kind.__name__, [round(v, 6) for v in values], steps)


def rows_of(series):
    """Records of one run per commit."""
    for place in range(max(len(one.values) for one in series)):
        env = {"record": "env", "git": {"revision": f"c{place}"}}
        yield {"schema": 1, **env}
        for one in series:
            yield {
                "schema": 1,
                "record": "row",
                "job_id": one.name,
                "mode": "micro",
                "status": "ok",
                "throughput": 1,
                "machine_profile": "m",
                "samples_s": [math.exp(one.values[place])],
            }


def ours(program, series):
    """{name: [(place, percent, last place before)]} of our program."""
    found = {one.name: [] for one in series}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for row in rows_of(series):
            file.write(json.dumps(row) + "\n")
        file.flush()
        done = subprocess.run(
            [program, f"--history={file.name}"],
            stdout=subprocess.PIPE,
            text=True,
        )
    if done.returncode not in (0, 3):
        sys.exit(f"{program} failed")
    for line in done.stdout.splitlines():
        point = json.loads(line)
        change = (point["index"], point["percent"], int(point["before"][1:]))
        found[point["job_id"]].append(change)
    return found


OTAVA = """
import json, math, sys
from otava.analysis import compute_change_points
smallest = float(sys.argv[1]) / 100
for line in sys.stdin:
    times = [math.exp(value) for value in json.loads(line)]
    points, _ = compute_change_points(times, min_magnitude=smallest)
    answer = []
    for point in points:
        stats = point.stats
        percent = 100 * (stats.mean_2 / stats.mean_1 - 1)
        answer.append([int(point.index), round(float(percent), 2)])
    print(json.dumps(answer), flush=True)
"""


def otava(series):
    """{name: [(place, percent)]} of Otava."""
    env = bench_common.environment("dev/locks/bench_history.lock")
    lines = "".join(json.dumps(one.values) + "\n" for one in series)
    out = subprocess.run(
        [f"{env}/bin/python", "-c", OTAVA, str(SMALLEST)],
        input=lines,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    return {one.name: a for one, a in zip(series, answers, strict=True)}


def score(steps, found):
    """(steps found, reports that are no step)."""
    left, wrong = list(steps), 0
    for place, percent, *before in found:
        if before and before[0] < place - 1:
            net = level(steps, place + NEAR) - level(steps, before[0] - NEAR)
            wrong += abs(math.expm1(net) * 100 - percent) > SMALLEST
            continue
        near = [
            s for s in left if abs(s[0] - place) <= NEAR and s[1] * percent > 0
        ]
        if near:
            left.remove(near[0])
        else:
            wrong += 1
    return len(steps) - len(left), wrong


def table(series, answers):
    names = list(answers)
    print("| kind | steps |" + "".join(f" {n} found | wrong |" for n in names))
    print("|---|---|" + "---|---|" * len(names))
    kinds = list(dict.fromkeys(one.kind for one in series))
    for kind in [*kinds, "all"]:
        chosen = [one for one in series if kind in (one.kind, "all")]
        cells = []
        for name in names:
            scores = [score(s.steps, answers[name][s.name]) for s in chosen]
            cells += [sum(found for found, _ in scores)]
            cells += [sum(wrong for _, wrong in scores)]
        total = sum(len(one.steps) for one in chosen)
        print(f"| {kind} | {total} | " + " | ".join(map(str, cells)) + " |")


def write_corpus(path):
    series = [make(k, i) for k in KINDS for i in range(PER_KIND_IN_CORPUS)]
    answers = otava(series)
    with open(path, "w") as file:
        for one in series:
            line = {
                "name": one.name,
                "steps": [[at, round(percent, 2)] for at, percent in one.steps],
                "otava": answers[one.name],
                "values": one.values,
            }
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--series", type=int, default=50, help="of each kind")
    parser.add_argument(
        "--program",
        action="append",
        metavar="NAME=PATH",
        help="further builds of compare_baseline, such as before a change",
    )
    parser.add_argument("--corpus", help="write the file of tests instead")
    flags = parser.parse_args()
    if flags.corpus:
        return write_corpus(flags.corpus)
    # Not the series of the corpus, which tests look at.
    numbers = range(1000, 1000 + flags.series)
    series = [make(kind, i) for kind in KINDS for i in numbers]
    answers = {"ours": ours(PROGRAM, series)}
    for program in flags.program or []:
        name, path = program.split("=", 1)
        answers[name] = ours(path, series)
    answers["Otava"] = otava(series)
    table(series, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
