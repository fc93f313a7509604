#!/usr/bin/env python3
"""Measures how much bundles, connections and the cache help on this machine.

    dev/studies/bench_remote.sh [--rounds=20] [--items=256] [--delay_ms=20]

JPEGs of ImageNet's sizes in a store that answers every request 20 ms late
(lib/storage/testing/faulty_server), read by the native loader. Its Python is
that of dev/locks/storage.lock. A ratio is the median over rounds
with a 95% bootstrap interval. "ok": the whole interval is on the right side of
the bar; exit 3 when one is not.

  bundles      samples of tar shards over one object per sample, 8 connections
               each; bar: at least 3
  connections  16 over 1, one object per sample; bar: at least 8
  cache        all samples in the cache over the same files in a folder; bar:
               within 5%
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "lib/storage/testing")]

import servers  # noqa: E402
from bench_common import alternate, interval, rows_of  # noqa: E402

BIN = ROOT / "bazel-bin"
CONFIG = ROOT / "configs/native/rgb_pipeline_cpu.textproto"


class Bench:
    def __init__(self, flags, folder):
        self.flags = flags
        self.folder = folder
        self.env = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "user"),
            "FEEDRATE_WORKERS": str(BIN),
        }
        self.endpoint = None

    def pipeline(self, *flags):
        done = subprocess.run(
            [BIN / "tools/pipeline/pipeline", *flags],
            capture_output=True,
            text=True,
            env=self.env,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"pipeline {' '.join(map(str, flags))}\n{done.stderr}")
        return rows_of(done.stdout)

    def measure(self, dataset, *flags):
        """Images per second, by row."""
        rows = self.pipeline(
            f"--config={CONFIG}",
            f"--num_items={self.flags.items}",
            "--batch_size=32",
            "--num_runs=1",
            "--transforms=HorizontalFlip",
            "--noworker_efficiency",
            "--noconnection_efficiency",
            "--noequivalence",
            f"--dataset={dataset}",
            *flags,
        )
        wrong = [r["reason"] for r in rows if r["status"] != "ok"]
        if wrong:
            sys.exit("\n".join(wrong))
        # A noisy row is measured again; the last attempt counts.
        last = {r["job_id"]: r["throughput"] for r in rows}
        return list(last.values())

    def far(self, prefix, *flags):
        return self.measure(
            f"s3://public/{prefix}",
            "--anonymous",
            f"--endpoint={self.endpoint}",
            *flags,
        )

    def prepare(self):
        """Images, as objects and packed."""
        spec = f"synthetic:rgb,n={self.flags.items},seed=1"
        self.measure(spec)
        self.local = self.folder / "far/items"
        self.local.mkdir(parents=True)
        found = (self.folder / "user").glob("feedrate/synthetic/seed1/*.jpg")
        for path in sorted(found)[: self.flags.items]:
            path.rename(self.local / path.name)
        self.pipeline(
            f"--make_shards={self.folder / 'far/shards'}",
            f"--dataset={self.local}",
        )

    def rounds(self):
        cache = f"--cache_dir={self.folder / 'objects'}"
        self.far("items", cache)
        found = {"bundles": [], "connections": [], "cache": []}
        for number in range(self.flags.rounds):
            one, eight, sixteen = self.far(
                "items", "--sweep=connections=1,8,16"
            )
            packed = self.far("shards", "--connections=8")[0]
            sides = {
                "near": lambda: self.far("items", cache)[0],
                "files": lambda: self.measure(self.local)[0],
            }
            seen = alternate(sides, number)
            near, files = seen["near"], seen["files"]
            found["bundles"].append(packed / eight)
            found["connections"].append(sixteen / one)
            found["cache"].append(near / files)
            print(
                f"round {number + 1}: objects 1 connection {one:.0f}/s, "
                f"8 {eight:.0f}/s, 16 {sixteen:.0f}/s; shards, 8 "
                f"{packed:.0f}/s; cache {near:.0f}/s, files {files:.0f}/s",
                file=sys.stderr,
            )
        return found


def judge(found):
    bars = {
        "bundles": (3, float("inf")),
        "connections": (8, float("inf")),
        "cache": (0.95, float("inf")),
    }
    good = True
    for name, values in found.items():
        middle, low, high = interval(values)
        least, most = bars[name]
        passes = low >= least and high <= most
        good &= passes
        print(
            f"{name:12} {middle:6.2f} [{low:.2f}, {high:.2f}]  "
            f"at least {least}  {'ok' if passes else 'NOT REACHED'}"
        )
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--delay_ms", type=float, default=20)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(flags, pathlib.Path(folder))
        bench.prepare()
        far = bench.folder / "far"
        with servers.faulty(folder=far, delay_ms=flags.delay_ms) as server:
            bench.endpoint = server.url
            found = bench.rounds()
    return 0 if judge(found) else 3


if __name__ == "__main__":
    sys.exit(main())
