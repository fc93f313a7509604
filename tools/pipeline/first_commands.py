#!/usr/bin/env python3
"""Shows three commands that fit this machine and the current folder.

What `feedrate` prints without arguments. It looks for images, videos and
episodes here, for a GPU and for torch, and starts no measurement.
"""

import pathlib
import subprocess
import sys

import bench_folder

# A look at a folder, such as one's home, must not take longer.
MOST_FILES = 20_000
MOST_S = 0.5
NO_ANSWER = "a driver that does not answer (nvidia-smi)"


def output_of(*command, late=""):
    """The first line that a command prints; empty if it does not work, and
    `late` if it does not end."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=3
        )
    except OSError:
        return ""
    except subprocess.TimeoutExpired:
        return late
    return done.stdout.partition("\n")[0] if done.returncode == 0 else ""


def gpu():
    """Its name, or NO_ANSWER; empty without one."""
    return output_of(
        "nvidia-smi",
        "--query-gpu=name",
        "--format=csv,noheader",
        late=NO_ANSWER,
    )


def torch():
    """ "cuda" or "cpu" if `train` finds a torch that it can use, else empty."""
    built = bench_folder.ROOT / "bazel-bin/lib/model/worker/worker_train"
    if not bench_folder.BUNDLE:
        return "cpu" if built.exists() else ""
    worker = bench_folder.BUNDLE / "libexec/worker_train"
    return output_of(worker, "--which").partition(":")[0]


def suggestions(found, card, device):
    """(command, what it says) of all that fits, the most fitting first."""
    if found:
        files = bench_folder.KINDS[found[0]].unit + "s"
        yield (
            "bench .",
            f"how fast these {files} load, what limits it, what it would feed",
        )
    if device == "cuda" and card and card != NO_ANSWER:
        yield (
            "train --model=vit5_small --device=cuda",
            "a training step on this GPU, part by part, and what limits it",
        )
    yield (
        "demo",
        "transforms and a loader on synthetic images, as tables and a page",
    )
    if not found:
        yield (
            "bench FOLDER",
            "how fast your images, videos or episodes load, and what limits it",
        )
    if device == "cpu":
        yield (
            "train --model=vit5_tiny --batch-size=8 --warmup-steps=5",
            "a training step on this CPU, part by part, and what limits it",
        )
    yield "doctor", "what works on this machine, and how to get the rest"
    yield "duel 'COMMAND A' 'COMMAND B'", "which of two commands is faster"


def main():
    feedrate = sys.argv[1]
    here = pathlib.Path()
    found = None
    # What a checkout has itself is data of its tests.
    if bench_folder.BUNDLE or here.resolve() != bench_folder.ROOT:
        found = bench_folder.look_at(here, MOST_FILES, MOST_S)
    card, device = gpu(), torch()
    facts = [f"{bench_folder.processors()} processors"]
    facts.append(card or "no GPU")
    facts.append(
        {"": "no torch", "cuda": "torch for GPUs"}.get(device, "torch")
    )
    if found:
        facts.insert(0, bench_folder.in_words(*found[:2]) + " in this folder")
    print(f"Here: {', '.join(facts)}. Three commands that fit:\n")
    for command, says in list(suggestions(found, card, device))[:3]:
        print(f"  {feedrate} {command}\n      {says}")
    print(f"\n{feedrate} --help lists all programs.")


if __name__ == "__main__":
    main()
