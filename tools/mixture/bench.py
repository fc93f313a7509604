#!/usr/bin/env python3
"""Compares the native mixture with tf.data on this machine.

    dev/bazel.sh build //tools/mixture //lib/loader/worker:worker_native
    make envs GROUPS="tensorflow" ENV_SET=current
    tools/mixture/bench.py [--pairs=20] [--steps=160]
    tools/mixture/bench.py --tfds [--pairs=20] [--steps=40]

29 synthetic data sets, batches of 64 pairs of frames of 224 x 224. The program
`mixture` runs both libraries with and without metadata, one run of each in
shuffled order, so that slow drift in machine speed affects them equally; the
limit is measured beside each run. A ratio is the median over pairs of runs with
a 95% bootstrap interval. "ok": the interval lies on the right side of the bar;
exit 3 when one does not.

  native / tfdata     samples per second, the same metadata; bar 1.4, aim 2; or
                      native at 0.9 of the limit where tf.data passes 0.65. On
                      files that tensorflow-datasets writes (--tfds): bar 1.5,
                      aim 3; dev/checks/python_mixture_test.sh compares samples
  full / none         native with and without metadata; bar 0.9
  native / limit      pure JPEG decode of the frames used; bar 0.85
  memory              peak PSS of native, code and all, against the bound that
                      the loader states and 64 MB for the program itself
"""

import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

MIXTURE = ROOT / "bazel-bin/tools/mixture/mixture"
CONFIG = ROOT / "configs/mixture/bench.textproto"
# The program, its libraries, stacks of threads.
PROGRAM_BYTES = 64 << 20
TFDATA = "tfdata"


def measure(flags, output):
    command = [
        MIXTURE,
        f"--config={CONFIG}",
        f"--libraries={flags.libraries}",
        "--env_set=current",
        f"--num_runs={flags.pairs}",
        f"--sweep=metadata={flags.metadata};steps={flags.steps};"
        f"warmup={flags.warmup}",
        f"--output={output}",
        "--batches=/dev/null",
        # As many runs as there are pairs, one after the other: they alternate,
        # so that what else the machine does affects both.
        "--quiet_wait=0",
        "--stable_within=0",
        # tf.data would read all shards before each run to list what it skips.
        "--on_error=fail",
    ]
    if flags.dataset:
        command.append(f"--dataset={flags.dataset}")
    environment = {
        **os.environ,
        "FEEDRATE_WORKERS": f"{ROOT / 'bazel-bin'}:{ROOT}",
    }
    code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if code not in (0, 2):
        sys.exit(f"bench.py: mixture ended with {code}")
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    rows = [row for row in rows if row["record"] == "row"]
    wrong = {(r["library"], r["reason"]) for r in rows if r["status"] != "ok"}
    for library, reason in sorted(wrong):
        print(f"bench.py: {library}: {reason}", file=sys.stderr)
    found = collections.defaultdict(dict)
    for row in rows:
        if row["status"] == "ok":
            key = (row["library"], row["mixture"]["metadata"])
            found[key][row["run_index"]] = row
    return found


def write_tfds(folder):
    """Six RLDS data sets of JPEG frames, written by tensorflow-datasets."""
    lock = "configs/requirements/current/tensorflow.lock"
    environment = bench_common.environment(lock)
    code = subprocess.run(
        [f"{environment}/bin/python", "-m", "testing.tfds_episodes", folder],
        cwd=ROOT / "lib/adapters/python",
    ).returncode
    if code != 0:
        sys.exit("bench.py: tensorflow-datasets could not write its files")


def paired(found, above, below, value=lambda row: row["throughput"]):
    """Ratios of the runs that both have."""
    both = sorted(set(found[above]) & set(found[below]))
    return [value(found[above][i]) / value(found[below][i]) for i in both]


class Report:
    def __init__(self):
        self.missed = []

    def hold(self, name, ratios, bar, other_way=False):
        """Whether the ratio's whole interval is at or above the bar."""
        if not ratios:
            print(f"| {name} | could not be run | | {bar} | missed |")
            self.missed.append(name)
            return
        middle, low, high = bench_common.interval(ratios)
        is_ok = low >= bar or other_way
        verdict = "ok" if is_ok else "missed"
        print(
            f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} | {bar} |"
            f" {verdict} |"
        )
        if not is_ok:
            self.missed.append(name)


def print_rates(found):
    print("| library | metadata | samples/s | of limit | p99 ms | PSS MB |")
    print("|---|---|---|---|---|---|")
    for (library, metadata), runs in sorted(found.items()):
        rows = list(runs.values())

        def middle(value, rows=rows):
            return statistics.median(value(row) for row in rows)

        print(
            f"| {library} | {metadata} |"
            f" {middle(lambda r: r['throughput']):,.0f} |"
            f" {middle(lambda r: r.get('of_limit', 0)):.2f} |"
            f" {middle(lambda r: r['mixture']['batch_p99_s']) * 1e3:.0f} |"
            f" {middle(lambda r: r.get('rss_peak_bytes', 0)) / 1e6:,.0f} |"
        )
    print()


def judge(found, flags):
    report = Report()
    print("| ratio | median | 95% | bar | |")
    print("|---|---|---|---|---|")
    modes = flags.metadata.split(",")
    for mode in modes:
        of_limit = [
            row.get("of_limit", 0) for row in found[("native", mode)].values()
        ]
        if TFDATA in flags.libraries:
            peer = [
                row.get("of_limit", 0) for row in found[(TFDATA, mode)].values()
            ]
            near_limit = bool(
                peer
                and of_limit
                and statistics.median(peer) > 0.65
                and bench_common.interval(of_limit)[1] >= 0.9
            )
            report.hold(
                f"native / tfdata, {mode}",
                paired(found, ("native", mode), (TFDATA, mode)),
                1.5 if flags.tfds else 1.4,
                near_limit and not flags.tfds,
            )
        report.hold(f"native / limit, {mode}", of_limit, 0.85)
    if {"none", "full"} <= set(modes):
        report.hold(
            "native, full / none",
            paired(found, ("native", "full"), ("native", "none")),
            0.9,
        )
    for mode in modes:
        rows = found[("native", mode)].values()
        held = [
            (row["mixture"]["memory_bound_bytes"] + PROGRAM_BYTES)
            / row["rss_peak_bytes"]
            for row in rows
            if "rss_peak_bytes" in row
        ]
        report.hold(f"bound / memory, {mode}", held, 1)
    return report.missed


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--warmup", type=int, default=8)
    parser.add_argument(
        "--metadata", help="default: none,full; with --tfds: full"
    )
    parser.add_argument("--libraries", default=f"native,{TFDATA}")
    parser.add_argument("--dataset", help="another one than the config's")
    parser.add_argument(
        "--tfds",
        action="store_true",
        help="files that tensorflow-datasets writes",
    )
    flags = parser.parse_args()
    flags.metadata = flags.metadata or ("full" if flags.tfds else "none,full")
    if not MIXTURE.exists():
        sys.exit(
            "bench.py: tools/mixture is not built; run: dev/bazel.sh build"
            " //tools/mixture //lib/loader/worker:worker_native"
        )
    with tempfile.TemporaryDirectory() as folder:
        if flags.tfds:
            flags.dataset = f"{folder}/tfds"
            write_tfds(flags.dataset)
        found = measure(flags, pathlib.Path(folder) / "rows.jsonl")
    print_rates(found)
    missed = judge(found, flags)
    if missed:
        print(f"\nmissed: {', '.join(missed)}")
    sys.exit(3 if missed else 0)


if __name__ == "__main__":
    main()
