#!/usr/bin/env python3
"""The parts of gpu_train.sh in Python.

gpu_train.py kernels CSV               the time of each kernel that ncu saw
gpu_train.py parallel ONE FIRST SECOND answers of one process and of two
gpu_train.py turns RUNS MODEL BATCH    the step beside PyTorch's, by turns
"""

import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PEER = "torch_compile_bf16"


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


def fused_ms(model, batch):
    """Of a process of its own: the median of 3 x 50 steps, in ms."""
    command = [HERE / "tests/fused_check", model, batch, "-2"]
    text = subprocess.check_output(command, text=True)
    lines = [n.split() for n in text.splitlines() if n.startswith("step ")]
    return statistics.median(float(words[1]) for words in lines)


def take_turns(runs, model, batch):
    """Prints the step of the engine and of PyTorch's best way, in ms: that is
    compiled once, and its 3 x 20 steps of a turn begin with ten more."""
    sys.path.insert(0, str(HERE / "libexec/python"))
    import torch
    import train_worker

    words = f"library={PEER} model={model} batch_size={batch} device=cuda"
    spec = train_worker.parse([*words.split(), "precision=bf16"])
    training = train_worker.Training(torch, spec)

    def peer_ms(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            training.step()
        torch.cuda.synchronize()
        training.forget()
        return (time.perf_counter() - start) / count * 1e3

    peer_ms(5)
    ours, peers = [], []
    for turn in range(int(runs)):
        ours.append(fused_ms(model, batch))
        peer_ms(10)
        peers.append(statistics.median(peer_ms(20) for _ in range(3)))
        print(f"{turn}: {ours[-1]:.3f} ms, {PEER} {peers[-1]:.3f}", flush=True)
    ratios = sorted(b / a for a, b in zip(ours, peers, strict=True))
    a, b = statistics.median(ours), statistics.median(peers)
    print(
        f"{model} batch {batch}: {a:.2f} ms ({int(batch) / a * 1e3:.0f} "
        f"samples/s), {PEER} {b:.2f} ms, {b / a:.3f} times as long "
        f"[{ratios[0]:.3f}, {ratios[-1]:.3f}]"
    )


def main():
    command, *paths = sys.argv[1:]
    if command == "turns":
        take_turns(*paths)
        return
    paths = [pathlib.Path(path) for path in paths]
    if command == "kernels":
        kernel_table(*paths)
    else:
        check_parallel(paths)


if __name__ == "__main__":
    main()
