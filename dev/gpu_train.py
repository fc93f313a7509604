#!/usr/bin/env python3
"""Runs the trainings of dev/gpu_train.sh in turns and prints what they gave.

Each repeat runs every way once, in an order that the seed shuffles, so that the
machine's mood hits all of them. Every result goes to --output as one JSON line.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Training GFLOP a sample as `flops` counts, and the H200's dense bf16 peak.
GFLOP = {"vit5_small": 28.190932992, "vit5_base": 107.6}
PEAK_TFLOPS = float(os.environ.get("PEAK_TFLOPS", "989.4"))


def ways(args):
    peer = [args.python, str(ROOT / "lib/adapters/python/train_worker.py")]
    known = {
        "feedrate": [args.worker],
        "feedrate_graphs": [args.worker, "graphs=1"],
        "torch_eager": [*peer, "library=torch_eager"],
        "torch_compile": [*peer, "library=torch_compile"],
        "torch_max_autotune": [*peer, "library=torch_max_autotune"],
    }
    chosen = os.environ.get("LIBRARIES", ",".join(known)).split(",")
    return {name: known[name] for name in chosen}


def run(command, words):
    start = time.monotonic()
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, check=False
    )
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


def summary(name, results, batch, model):
    good = [r for r in results if r["event"] == "result"]
    if not good:
        return f"{name:20s} {results[0]['error'][:90]}"
    p50 = [batch / statistics.median(r["steps_s"]) for r in good]
    wall = [batch * len(r["steps_s"]) / r["wall_s"] for r in good]
    middle = statistics.median(p50)
    mfu = middle * GFLOP.get(model, 0) / 1e3 / PEAK_TFLOPS
    spread = (max(p50) - min(p50)) / middle
    phases = ", ".join(
        f"{k} {1e3 * v:.1f}" for k, v in good[0]["phases"].items() if v > 1e-5
    )
    return (
        f"{name:20s} {middle:8.0f} samples/s by events, "
        f"{statistics.median(wall):8.0f} by the clock, MFU {mfu:6.1%}, "
        f"spread {spread:5.1%} of {len(good)}, "
        f"{good[0]['memory_peak_bytes'] / 2**30:.1f} GiB, "
        f"loss {good[0]['losses'][0]:.3f} to {good[0]['losses'][-1]:.3f}\n"
        f"{'':20s} ms: {phases}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    env = os.environ.get
    model, batch = env("MODEL", "vit5_small"), int(env("BATCH", "256"))
    words = [
        f"model={model}",
        f"batch_size={batch}",
        "device=cuda",
        f"precision={env('PRECISION', 'bf16')}",
        f"warmup={env('WARMUP', '50')}",
        f"steps={env('STEPS', '100')}",
    ]
    results = {name: [] for name in ways(args)}
    shuffle = random.Random(1)
    with open(args.output, "w") as out:
        for repeat in range(int(env("REPEATS", "5"))):
            order = list(ways(args).items())
            shuffle.shuffle(order)
            for name, command in order:
                # Rates of the device once are enough.
                more = [f"rates={int(repeat == 0)}"]
                result = run(command, [*words, *more])
                results[name].append(result)
                line = {"library": name, "repeat": repeat, **result}
                out.write(json.dumps(line) + "\n")
                out.flush()
                print(f"{repeat} {name}: {result['duration_s']:.0f} s", end=" ")
                print(result.get("error", ""), flush=True)
    for name, list_ in results.items():
        print(summary(name, list_, batch, model))
    ours = [
        r["losses"]
        for n in ("feedrate", "feedrate_graphs")
        for r in results.get(n, [])[:1]
        if r["event"] == "result"
    ]
    if len(ours) == 2:
        gap = max(abs(a - b) for a, b in zip(*ours, strict=True))
        print(f"largest difference of losses, eager and graphs: {gap:.4f}")


if __name__ == "__main__":
    main()
