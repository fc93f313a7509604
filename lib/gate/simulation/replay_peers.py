#!/usr/bin/env python3
"""Other judges on the pull requests of the replay bench, beside ours.

    replay_peers.py SERIES.jsonl [LIMIT]

Reads what replay_pulls wrote. pytest-benchmark, nvbench-compare and Apache
Otava decide with their own code from PyPI; what hyperfine's welch_ttest.py and
github-action-benchmark do is a line each. Prints two Markdown tables: suites
with a job called slower though nothing changed, and what was found of 5%.
"""

import collections
import contextlib
import io
import json
import statistics
import sys

import numpy as np
from cuda.bench.scripts import nvbench_compare
from otava.analysis import compute_change_points
from pytest_benchmark.utils import parse_compare_fail
from scipy import stats

PYTEST_RULE = parse_compare_fail("min:5%")


def welch(pull):
    """hyperfine's welch_ttest.py: p < 0.05, one side after the other."""
    a, b = np.array(pull["a"]), np.array(pull["b"])
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue
    return int(np.sum((p < 0.05) & (b.mean(axis=1) > a.mean(axis=1))))


def nvbench_file(sides):
    """The part of nvbench's results that nvbench-compare reads."""

    def summary(tag, value):
        data = {"name": "value", "type": "float64", "value": str(value)}
        return {"tag": f"nv/cold/time/gpu/{tag}", "data": [data]}

    states = []
    for i, times in enumerate(sides):
        mean = statistics.fmean(times)
        noise = statistics.stdev(times) / mean
        numbers = [summary("mean", mean), summary("stdev/relative", noise)]
        states.append(
            {
                "name": f"job{i}",
                "device": 0,
                "axis_values": None,
                "summaries": numbers,
            }
        )
    return [{"name": "all", "devices": [0], "axes": None, "states": states}]


def nvbench(pull):
    """nvbench-compare-legacy of cuda-bench."""
    device = [{"id": 0, "name": "device"}]
    nvbench_compare.all_ref_devices = nvbench_compare.all_cmp_devices = device
    for count in ("config", "unknown", "pass", "failure"):
        setattr(nvbench_compare, f"{count}_count", 0)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        nvbench_compare.compare_benches(
            nvbench_file(pull["a"]),
            nvbench_file(pull["b"]),
            threshold=0,
            plot_along=None,
            plot=False,
            dark=False,
            axis_filters=[],
            benchmark_filters=[],
            no_color=True,
        )
    return out.getvalue().count("SLOW")


def pytest_benchmark(pull):
    """--benchmark-compare-fail=min:5% against the run of last night."""
    pairs = zip(pull["new"], pull["last"], strict=True)
    return sum(
        PYTEST_RULE.fails({"min": min(new)}, {"min": min(last)}) is not None
        for new, last in pairs
    )


def github_action(pull):
    """github-action-benchmark's alert threshold of 200%."""
    pairs = zip(pull["new"], pull["last"], strict=True)
    return sum(
        statistics.fmean(new) / statistics.fmean(last) > 2
        for new, last in pairs
    )


def otava(pull):
    """Apache Otava: a step up where the change came, by its defaults. It loses
    points of arrays of numpy, or fails."""
    slower = 0
    for stored, now in zip(pull["stored"], pull["now"], strict=True):
        points, _ = compute_change_points(stored + now)
        slower += any(
            p.index == len(stored) and p.stats.mean_2 > p.stats.mean_1
            for p in points
        )
    return slower


def t_test(pull):
    """Student's t test of the executions' medians, p < 0.05."""
    a, b = np.array(pull["stored"]), np.array(pull["now"])
    p = stats.ttest_ind(a, b, axis=1).pvalue
    return int(np.sum((p < 0.05) & (b.mean(axis=1) > a.mean(axis=1))))


JUDGES = {
    "`duel`": lambda pull: pull["duel"],
    "stored baseline": lambda pull: pull["stored_slower"],
    "hyperfine": welch,
    "nvbench-compare": nvbench,
    "pytest-benchmark": pytest_benchmark,
    "github-action-benchmark": github_action,
    "Otava": otava,
    "t test": t_test,
}


def main():
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else None
    # By noise, change and judge: suites, jobs, and those called slower.
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    noises = []
    with open(sys.argv[1], encoding="utf-8") as series:
        for number, line in enumerate(series):
            if number == limit:
                break
            pull = json.loads(line)
            noises.append(pull["noise"])
            for name, judge in JUDGES.items():
                slower = judge(pull)
                for noise in (pull["noise"], "together"):
                    count = counts[noise, pull["slowdown"] > 0, name]
                    count[0] += 1
                    count[1] += len(pull["a"])
                    count[2] += slower > 0
                    count[3] += slower
    for is_slow in (False, True):
        head = "a slower change" if is_slow else "nothing changed"
        print(f"| {head} | pull requests |", " | ".join(JUDGES), "|")
        print("|---" * (len(JUDGES) + 2) + "|")
        for noise in [*sorted(set(noises)), "together"]:
            cells = [counts[noise, is_slow, name] for name in JUDGES]
            texts = [
                (
                    f"{100 * found / max(1, suites):.0f}%, "
                    f"{100 * found_jobs / max(1, jobs):.0f}%"
                    if is_slow
                    else str(found)
                )
                for suites, jobs, found, found_jobs in cells
            ]
            print(f"| {noise} | {cells[0][0]} |", " | ".join(texts), "|")
        print()


if __name__ == "__main__":
    main()
