#!/usr/bin/env python3
"""One table of all loaders: speed, memory, and what audits found.

    dev/bazel.sh build //tools/pipeline //lib/loader/worker:worker_native
    tools/pipeline/bench_loaders.py [--rounds=20] [--soak=10m] [--output=FOLDER]

Runs configs/loaders.textproto twice: `pipeline` with as many runs as rounds, in
which each loader runs one epoch with workers that live on, while the others
wait; and `pipeline --audit --soak`. Rows continue what an earlier call left in
FOLDER, but finished audits are not repeated, so use a new one. A ratio is ours
/ the loader's speed in the same round: the median over rounds, with its 95%
bootstrap interval. Exit 2 if there is nothing to show.
"""

import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402

PIPELINE = ROOT / "bazel-bin/tools/pipeline/pipeline"
OURS = "native"
AUDITED = ["exactly once", "order", "any workers", "ranks", "resume", "growth"]
COLUMNS = ["loader", "images/s", "ours / it", "95%", "MB", *AUDITED]


def run(flags, output, *more):
    """The records of a run of pipeline, and what it printed."""
    command = [
        PIPELINE,
        f"--config={ROOT}/configs/loaders.textproto",
        # Not all exist for every processor, or are installed.
        "--skip_missing",
    ]
    if flags.libraries:
        command.append(f"--libraries={flags.libraries}")
    if flags.num_items:
        command.append(f"--num_items={flags.num_items}")
    done = subprocess.run(
        [*command, f"--output={output}", *more],
        stderr=subprocess.PIPE,
        text=True,
    )
    print(done.stderr, file=sys.stderr)
    return bench_common.read_records(output), done.stderr


def speeds_of(records):
    """{loader: {round: row}} of rows that are ok."""
    found = {}
    for row in records:
        is_loader = row["record"] == "row" and row["library"] != "null"
        if is_loader and row["status"] == "ok":
            found.setdefault(row["library"], {})[row["run_index"]] = row
    return found


def median_rate(rows):
    return statistics.median(row["throughput"] for row in rows.values())


def speed_cells(rows, ours):
    """Speed, ratio, its interval and memory; of rounds that both have."""
    if not rows:
        return ["", "", "", ""]
    memory = max(row.get("rss_peak_bytes", 0) for row in rows.values())
    rounds = sorted(rows.keys() & ours.keys())
    ratio, interval = "", ""
    if rounds and rows is not ours:
        middle, low, high = bench_common.interval(
            bench_common.ratios(
                [ours[number]["throughput"] for number in rounds],
                [rows[number]["throughput"] for number in rounds],
            )
        )
        ratio, interval = f"{middle:.2f}", f"{low:.2f} to {high:.2f}"
    speed = f"{median_rate(rows):,.0f}"
    return [speed, ratio, interval, f"{memory / 1e6:,.0f}"]


def audit_cells(printed):
    """{loader: cells} of the table that --audit printed: columns begin where
    the words of its first line do."""
    lines = printed.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("loader ")]
    if not heads:
        return {}
    head = lines[heads[0]]
    starts = [head.index(name) for name in ["loader", *AUDITED]]
    ends = [head.index("version"), *starts[2:], None]
    found, last = {}, []
    for line in lines[heads[0] + 2 :]:
        if "  " not in line:
            break
        loader, *cells = (
            line[a:b].strip() for a, b in zip(starts, ends, strict=True)
        )
        if loader:
            last = found[loader] = cells
            continue
        # A long cell continues in the next line.
        for i, more in enumerate(cells):
            last[i] = f"{last[i]} {more}".strip()
    return found


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--soak", default="10m")
    parser.add_argument("--libraries", default="")
    parser.add_argument("--num_items", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, default="loaders")
    flags = parser.parse_args()
    flags.output.mkdir(parents=True, exist_ok=True)
    records, _ = run(
        flags,
        flags.output / "rows.jsonl",
        f"--num_runs={flags.rounds}",
        "--sweep=persistent_workers=true",
    )
    speeds = speeds_of(records)
    _, printed = run(
        flags,
        flags.output / "audits.jsonl",
        "--audit",
        f"--soak={flags.soak}",
    )
    audits = audit_cells(printed)
    loaders = sorted(speeds, key=lambda name: -median_rate(speeds[name]))
    loaders += [name for name in audits if name not in speeds]
    if not loaders:
        sys.exit(2)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for name in loaders:
        cells = [name]
        cells += speed_cells(speeds.get(name), speeds.get(OURS, {}))
        cells += audits.get(name, [""] * len(AUDITED))
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
