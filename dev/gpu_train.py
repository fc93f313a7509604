#!/usr/bin/env python3
"""Runs the trainings of dev/gpu_train.sh alternately and prints the results.

Each repeat runs every way once, in an order that the seed shuffles, so that
slow drift in machine speed affects all of them equally. Every result goes to
--output as one JSON line. A way that fails or takes longer than its limit is a
line of the table too, and is not tried again. --resume keeps what --output has
and runs only the rest, for machines that are lent for minutes.
"""

import collections
import csv
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import bench_common

# The folder that dev/gpu_bundle.sh made.
ROOT = pathlib.Path(__file__).resolve().parent
# Training GFLOP a sample as `flops` counts, and the H200's dense bf16 peak.
GFLOP = {"vit5_small": 28.190932992, "vit5_base": 107.6}
PEAK_TFLOPS = float(os.environ.get("PEAK_TFLOPS", "989.4"))
# Medians of repeats should be this close to each other.
SPREAD = 0.03
AUTOTUNE = "torch_max_autotune"
PEERS = (
    "torch_eager",
    "torch_compile",
    "torch_reduce_overhead",
    "torch_compile_bf16",
    AUTOTUNE,
)


def ways(args):
    peer = [args.python, str(ROOT / "libexec/python/train_worker.py")]
    known = {
        "feedrate": [args.worker],
        "feedrate_graphs": [args.worker, "graphs=1"],
        "feedrate_eager": [args.worker, "engine=eager"],
    }
    for library in PEERS:
        known[library] = [*peer, f"library={library}"]
    unknown = sorted(set(args.libraries) - set(known))
    if unknown:
        sys.exit(f"no library {', '.join(unknown)}; there are {list(known)}")
    chosen = args.libraries or known
    return {name: known[name] for name in known if name in chosen}


def run(command, words, limit_s):
    start = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return {
            "event": "error",
            "error": f"did not end in {limit_s:.0f} s",
            "duration_s": time.monotonic() - start,
        }
    last = {}
    for line in done.stdout.splitlines():
        try:
            last = json.loads(line)
        except ValueError:
            continue
    if last.get("event") != "result":
        words = (done.stderr or "no word").strip().splitlines()[-1:]
        last = {
            "event": "error",
            "error": last.get("error", f"exit {done.returncode}: {words}"),
        }
    last["duration_s"] = time.monotonic() - start
    return last


def read_results(path):
    """(library, repeat) to result, of an earlier call that was cut short."""
    return {
        (result["library"], result["repeat"]): result
        for result in bench_common.read_records(path)
    }


def spread_of(values):
    return (max(values) - min(values)) / statistics.median(values)


def table(results, batch, model):
    """Markdown: a line a way, medians over its repeats."""
    lines = [
        "| | samples/s | by the clock | spread | MFU (exact) | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for name, list_ in results.items():
        good = [r for r in list_ if r["event"] == "result"]
        if not good:
            error = list_[0]["error"][:90] if list_ else "not run"
            lines.append(f"| {name} | – | – | – | – | {error} |")
            continue
        p50 = [batch / statistics.median(r["steps_s"]) for r in good]
        wall = [batch * len(r["steps_s"]) / r["wall_s"] for r in good]
        middle = statistics.median(p50)
        mfu = middle * GFLOP.get(model, 0) / 1e3 / PEAK_TFLOPS
        spread = spread_of(p50)
        remark = "" if spread <= SPREAD else " (too wide)"
        lines.append(
            f"| {name} | {middle:,.0f} | {statistics.median(wall):,.0f} "
            f"| {spread:.1%} of {len(good)}{remark} | {mfu:.1%} "
            f"| {good[0]['memory_peak_bytes'] / 2**30:.1f} GiB |"
        )
    return "\n".join(lines)


def budgets(results):
    """Milliseconds of a step by part, mean over repeats."""
    lines = []
    for name, list_ in results.items():
        good = [r for r in list_ if r["event"] == "result"]
        parts = {}
        for result in good:
            for part, seconds in result["phases"].items():
                parts.setdefault(part, []).append(1e3 * seconds)
        text = ", ".join(
            f"{part} {statistics.mean(values):.2f}"
            for part, values in parts.items()
            if statistics.mean(values) > 0.005
        )
        if text:
            lines.append(f"{name}: {text} ms")
    return "\n".join(lines)


def loss_gap(results):
    ours = [
        r["losses"]
        for n in ("feedrate", "feedrate_graphs")
        for r in results.get(n, [])[:1]
        if r["event"] == "result"
    ]
    if len(ours) != 2:
        return ""
    gap = max(abs(a - b) for a, b in zip(*ours, strict=True))
    return f"largest difference of losses, eager and graphs: {gap:.4f}"


def kernel_table(path):
    """Prints the time of each kernel in a CSV of ncu."""
    total, calls = collections.Counter(), collections.Counter()
    micro = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1}
    micro |= {"ms": 1e3, "msecond": 1e3}
    lines = [n for n in path.read_text().splitlines() if n.startswith('"')]
    for row in csv.DictReader(lines):
        value = float(row["Metric Value"].replace(",", ""))
        name = row["Kernel Name"][:70]
        total[name] += value * micro[row["Metric Unit"]]
        calls[name] += 1
    print(f"kernels: {sum(total.values()) / 1e3:.2f} ms")
    for name, us in total.most_common(30):
        per_call = us / calls[name]
        print(f"{us:9.0f} us {calls[name]:4d} x {per_call:7.1f}  {name}")


def check_parallel(paths):
    """Holds the losses of two processes against those of one; exits 1 if not.

    Sums are made in another order, so the losses differ by rounding.
    """
    one, *parts = [
        json.loads(path.read_text().splitlines()[-1]) for path in paths
    ]
    failed = [r.get("error") for r in (one, *parts) if r["event"] != "result"]
    if failed:
        sys.exit(f"a process failed: {failed}")
    gaps = [
        max(
            abs(a - b) / a
            for a, b in zip(one["losses"], part["losses"], strict=True)
        )
        for part in parts
    ]
    print(
        f"{one['engine']}: losses of two processes differ from those of one by"
        f" {max(gaps):.3%} at most; the last is {one['losses'][-1]:.4f}"
    )
    if max(gaps) > 0.005 or parts[0]["losses"] != parts[1]["losses"]:
        sys.exit("the processes did not train together")


def parse_args():
    env = os.environ.get
    parser = bench_common.parser(__doc__)
    parser.add_argument("--worker")
    parser.add_argument(
        "--kernels", type=pathlib.Path, help="print this CSV of ncu and end"
    )
    parser.add_argument(
        "--parallel",
        type=pathlib.Path,
        nargs=3,
        help="compare the answers of one process and of two, and end",
    )
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--repeats", type=int, default=env("REPEATS", "5"))
    parser.add_argument("--device", default=env("DEVICE", "cuda"))
    parser.add_argument("--model", default=env("MODEL", "vit5_small"))
    parser.add_argument("--batch", type=int, default=env("BATCH", "256"))
    parser.add_argument("--precision", default=env("PRECISION", "bf16"))
    parser.add_argument("--warmup", type=int, default=env("WARMUP", "50"))
    parser.add_argument("--steps", type=int, default=env("STEPS", "100"))
    parser.add_argument(
        "--libraries",
        type=lambda text: text.split(",") if text else [],
        default=env("LIBRARIES", ""),
        help="ways to run, separated by commas; all of them",
    )
    parser.add_argument(
        "--limit_s",
        type=float,
        default=env("LIMIT_S", "180"),
        help="how long one training may take",
    )
    parser.add_argument(
        "--autotune_limit_s",
        type=float,
        default=env("AUTOTUNE_LIMIT_S", "480"),
        help="and one that tunes its kernels first",
    )
    return parser.parse_args()


def run_all(args):
    words = [
        f"model={args.model}",
        f"batch_size={args.batch}",
        f"device={args.device}",
        f"precision={args.precision}",
        f"warmup={args.warmup}",
        f"steps={args.steps}",
    ]
    known = read_results(args.output) if args.resume else {}
    results = {name: [] for name in ways(args)}
    shuffle = random.Random(1)
    with open(args.output, "a" if args.resume else "w") as out:
        for repeat in range(args.repeats):
            order = list(ways(args).items())
            shuffle.shuffle(order)
            for name, command in order:
                result = known.get((name, repeat))
                if result is None and any(
                    r["event"] != "result" for r in results[name]
                ):
                    continue  # It would fail, and take its time, again.
                if result is None:
                    limit = (
                        args.autotune_limit_s
                        if name == AUTOTUNE
                        else args.limit_s
                    )
                    # Rates of the device once are enough.
                    more = [f"rates={int(repeat == 0)}"]
                    result = run(command, [*words, *more], limit)
                    line = {"library": name, "repeat": repeat, **result}
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                    print(
                        f"{repeat} {name}: {result['duration_s']:.0f} s",
                        result.get("error", ""),
                        file=sys.stderr,
                        flush=True,
                    )
                results[name].append(result)
    return results


def main():
    args = parse_args()
    if args.kernels:
        kernel_table(args.kernels)
        return
    if args.parallel:
        check_parallel(args.parallel)
        return
    results = run_all(args)
    print(table(results, args.batch, args.model))
    print(budgets(results))
    print(loss_gap(results))


if __name__ == "__main__":
    main()
