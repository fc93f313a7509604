"""Results of other benchmark harnesses: aggregate against their own readers.

A case is a file that a harness or its tests have, or that this machine's
harness has just written. Of each benchmark, the number of runs and the mean,
least and greatest of their medians must be the same.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import asv.results
import asv.util
import outcome
import pyperf

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGGREGATE = ROOT / "bazel-bin/tools/aggregate/aggregate"
BENCHMARK = ROOT / "bazel-bin/lib/loader/read_ahead/read_ahead_benchmark"
PAGE = "docs/import.md"
LIMIT_S = 100
# Relative: numbers pass through text.
TOLERANCE = 1e-12
# Made here, by the harness itself.
MADE = {
    "hyperfine.json": "hyperfine",
    "hyperfine.csv": "hyperfine",
    "google_benchmark.json": "google",
}
FLAGS = ["--runs=5", "--warmup=1", "--shell=none"]


def cases(folder):
    if folder.name.startswith("program-"):
        return sorted(MADE)
    found = (str(p.relative_to(folder)) for p in folder.rglob("*.json"))
    words = ("test_storage/", "example_results/", "pyperf/tests/")
    return sorted(
        path
        for path in found
        if any(word in path for word in words)
        and not path.endswith(("/machine.json", "/benchmarks.json"))
    )


def seconds(runs):
    """One benchmark's summary, of its runs' medians."""
    return (len(runs), statistics.fmean(runs), min(runs), max(runs))


def of_pytest_benchmark(path):
    found = []
    for one in json.loads(path.read_text())["benchmarks"]:
        data = one["stats"].get("data")
        found.append(
            [statistics.median(data)] if data else [one["stats"]["median"]]
        )
    return found


def of_asv(path):
    """asv's own reader knows which numbers failed, and the parameters."""
    results = asv.results.Results.load(str(path))
    found = []
    for key in results.get_all_result_keys():
        if not key.rpartition(".")[2].startswith(("time_", "timeraw_")):
            continue
        params = results.get_result_params(key)
        values = results.get_result_value(key, params)
        samples = results.get_result_samples(key, params)
        for value, sample in zip(values, samples, strict=True):
            if value is not None and value == value:
                found.append([statistics.median(sample) if sample else value])
    return found


def of_pyperf(path):
    found = []
    for one in pyperf.BenchmarkSuite.load(str(path)):
        if one.get_unit() == "second":
            runs = [r.values for r in one.get_runs() if r.values]
            found.append([statistics.median(values) for values in runs])
    return found


def of_hyperfine(path):
    document = json.loads(path.with_suffix(".json").read_text())
    if path.suffix == ".csv":
        return [[one["median"]] for one in document["results"]]
    return [one["times"] for one in document["results"]]


def of_google(path):
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    found = {}
    for one in json.loads(path.read_text())["benchmarks"]:
        if one["run_type"] == "iteration":
            runs = found.setdefault(one["run_name"], [])
            runs.append(one["real_time"] * units[one["time_unit"]])
    return list(found.values())


READERS = {
    "test_storage": of_pytest_benchmark,
    "example_results": of_asv,
    "pyperf/tests": of_pyperf,
    "hyperfine": of_hyperfine,
    "google_benchmark": of_google,
}


def make(case, programs, folder):
    path = folder / case
    if MADE[case] == "google":
        command = [
            BENCHMARK,
            "--benchmark_min_time=0.01",
            "--benchmark_repetitions=3",
            f"--benchmark_out={path}",
        ]
    else:
        program = programs / "usr/bin/hyperfine"
        command = [program, *FLAGS, "true", "sleep 0.01"]
        for ending in ("json", "csv"):
            command += [f"--export-{ending}", path.with_suffix(f".{ending}")]
    subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S)
    return path


def aggregate(path):
    """(sorted summaries of the benchmarks, what it said)"""
    by = "mode,transform,library,settings"
    done = subprocess.run(
        [AGGREGATE, "--metric=p50_s", "--format=jsonl", f"--by={by}", path],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    if done.returncode not in (0, 1, 5):
        raise RuntimeError(f"aggregate: exit {done.returncode}: {done.stderr}")
    groups = [json.loads(line) for line in done.stdout.splitlines()]
    found = [
        tuple(one[word] for word in ("runs", "mean", "min", "max"))
        for one in groups
        if one.get("runs")
    ]
    return sorted(found), done.stderr.strip()


def compare(folder, case):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        if case in MADE:
            path = make(case, folder, work)
        else:
            # asv looks beside a file for the machine's.
            whole = work / "results" / (folder / case).parent.name
            shutil.copytree((folder / case).parent, whole)
            path = whole / (folder / case).name
        (reader,) = (READERS[word] for word in READERS if word in case)
        ours, said = aggregate(path)
        if not ours and "run `asv update`" in said:
            # As its reader says, too; then it must be right.
            asv.util.update_json(
                asv.results.Results, str(path), asv.results.Results.api_version
            )
            ours, said = aggregate(path)
        return judge(path, reader, ours, said)


def judge(path, reader, ours, said):
    last = said.replace(str(path), "FILE").splitlines()[-1:] or [""]
    try:
        expected = sorted(seconds(runs) for runs in reader(path))
    except (asv.util.UserError, KeyError, TypeError, ValueError) as error:
        if ours:
            return outcome.unexplained(f"we read what it does not: {error!r}")
        return outcome.refused(last[0])
    if not expected:
        if ours:
            return outcome.unexplained(f"{len(ours)} results where none is")
        return outcome.refused(last[0])
    if len(ours) != len(expected):
        return outcome.unexplained(
            f"{len(ours)} benchmarks where {len(expected)} are; {last[0]}"
        )
    for a, b in zip(ours, expected, strict=True):
        far = (
            abs(x - y) > TOLERANCE * abs(y) for x, y in zip(a, b, strict=True)
        )
        if any(far):
            return outcome.unexplained(f"{a} where {b} is right")
    return outcome.equal()
