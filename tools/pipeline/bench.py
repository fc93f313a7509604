#!/usr/bin/env python3
"""Compares the native loader with the others on this machine.

    dev/bazel.sh build //lib/loader:bench_native //lib/media:write_synthetic \\
        //lib/loader/python:feedrate_loader
    make envs GROUPS="torch_stack albumentationsx pillow dali spdl"
    make envs ENV_SET=current GROUPS=ffcv
    tools/pipeline/bench.py [--only=decode,memory,nine,training] [--pairs=20]

1,000 synthetic JPEGs of ImageNet's sizes, batches of 256 (nine channels: 64): a
random crop of 224, a flip half of the time, normalized, float32 NCHW. In every
round each loader runs one epoch, in shuffled order, while the others wait, so
that slow drift in machine speed affects all of them equally. A ratio is native
/ other: the median over rounds, with a 95% bootstrap interval. "ok": the whole
interval lies at or above the bar; exit 3 when one does not.

  decode  from files in the page cache; bars: 1.1 x the best DALI, 2.4 x the
          best DataLoader, 0.8 of the limit. The limit is the speed at which
          our decoder or libjpeg-turbo alone, whichever is faster, decodes the
          needed pixels on the same cores. A loader above it means that the
          limit is wrong
  memory  from decoded images; bars: 1.2 x DALI, 7 x the best DataLoader; the
          limit is a copy of the batch's bytes
  nine    nine channels, from memory; bar: 7 x the best DataLoader
  training  feedrate.Loader in Python against the others from files, as in a
          training: threads and processes live on between epochs. A ratio is
          module / other; bars: 0.97 of native, 1.3 x DALI with region decode, 4
          x the best DataLoader. SPDL has no bar; it makes a pipeline of threads
          per epoch, as its users do: one that lived on would work ahead while
          others are measured
  pss     with each of them, memory of the process tree while it works; from
          files native stays under a third of the smallest DataLoader's. From
          memory it is printed but not judged: most of it is the images
          themselves, which every loader holds

Worker start and stop are inside an epoch. DALI's pipeline is built before, and
so is FFCV's file: it holds the same JPEGs, or from memory the pixels. FFCV has
no bar.

--bin names another folder of built programs than bazel-bin.
"""

import contextlib
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dev"))

import bench_common  # noqa: E402
from bench_common import environment, interval, ratios  # noqa: E402

LOCKS = "configs/requirements/paper"
CURRENT = "configs/requirements/current"
SETTLE_S = 0.5
IMAGES = 1000

# scope: (flags of all sides, peers, bars)
SCOPES = {
    "decode": (
        ["--scope=decode"],
        "dali_fused dali_decode ffcv torchvision albumentationsx pillow spdl",
        {"DALI": 1.1, "DataLoader": 2.4, "limit": 0.8},
    ),
    "training": (
        ["--scope=decode", "--persistent"],
        "module dali_fused ffcv torchvision albumentationsx pillow spdl",
        {"native": 0.97, "DALI": 1.3, "DataLoader": 4},
    ),
    "memory": (
        ["--scope=memory"],
        "dali_external ffcv torchvision albumentationsx pillow nothing",
        {"DALI": 1.2, "DataLoader": 7},
    ),
    "nine": (
        ["--scope=memory", "--channels=9", "--batch_size=64"],
        "torchvision albumentationsx",
        {"DataLoader": 7},
    ),
}
# What a DataLoader that does nothing reaches is no library's.
DATALOADERS = ("torchvision", "albumentationsx", "pillow")


def peer_command(peer):
    """None where its environment cannot be had."""
    below = {
        "albumentationsx": f"{LOCKS}/torch_stack.lock",
        "pillow": f"{LOCKS}/torch_stack.lock",
        "ffcv": f"{CURRENT}/torch_stack.lock",
    }
    lock = {
        "spdl": "dev/locks/bench_pipeline.lock",
        "ffcv": f"{CURRENT}/ffcv.lock",
        "albumentationsx": f"{LOCKS}/albumentationsx.lock",
        "pillow": f"{LOCKS}/pillow.lock",
        "module": f"{LOCKS}/pillow.lock",
    }.get(peer, f"{LOCKS}/torch_stack.lock")
    if peer.startswith("dali"):
        lock = f"{LOCKS}/dali.lock"
    python = environment(lock, needed=False)
    if python is None:
        return None
    command = [f"{python}/bin/python", ROOT / "tools/pipeline/bench_peers.py"]
    if peer in below:
        torch = environment(below[peer], needed=False)
        if torch is None:
            return None
        command.append(f"--packages={torch}")
    return [*command, f"--peer={peer}"]


class Side(bench_common.Asked):
    """A loader that waits until it is asked for an epoch."""

    def __init__(self, name, command):
        super().__init__(
            name,
            command,
            stderr=subprocess.PIPE if name != "native" else None,
            cwd=ROOT,
            env={
                **os.environ,
                **bench_common.ONE_THREAD,
                "NO_ALBUMENTATIONS_UPDATE": "1",
                "NVPL_BLAS_DEBUG_CPU_TYPE": "1",
            },
        )

    def ask(self, line=""):
        try:
            return super().ask(line)
        except bench_common.Ended as error:
            stderr = self.process.stderr
            words = stderr.read()[-2000:] if stderr is not None else ""
            raise RuntimeError(f"{error}: {words}") from error

    def images_per_s(self):
        before = tree_cpu_s(self.process.pid)
        answer = self.ask()
        used = tree_cpu_s(self.process.pid) - before
        return answer["items"] / answer["elapsed_s"], answer["items"] / used

    def pss_bytes(self):
        """The most that the tree had during an epoch."""
        most = 0
        done = threading.Event()

        def watch():
            nonlocal most
            while not done.is_set():
                most = max(most, tree_pss(self.process.pid))
                time.sleep(0.02)

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.ask()
        done.set()
        watcher.join()
        return most


def tree_sum(pid, count):
    """The sum of count(folder in /proc) over a process and those below it."""
    total = 0
    with contextlib.suppress(OSError):  # It ended in the meantime.
        folder = pathlib.Path(f"/proc/{pid}")
        total += count(folder)
        for task in (folder / "task").iterdir():
            for child in (task / "children").read_text().split():
                total += tree_sum(int(child), count)
    return total


def tree_pss(pid):
    def pss(folder):
        lines = (folder / "smaps_rollup").read_text().splitlines()
        return sum(
            int(line.split()[1]) * 1024 for line in lines if line[:4] == "Pss:"
        )

    return tree_sum(pid, pss)


def tree_cpu_s(pid):
    """CPU time of the processes that live now, with threads that ended."""

    def cpu_s(folder):
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    return tree_sum(pid, cpu_s)


def jpeg_size(path):
    head = path.read_bytes()[:4096]
    return struct.unpack(">HH", head[head.index(b"\xff\xc0") + 5 :][:4])


def make_images(programs, folder, count):
    """As many as wanted that the crop fits into: DALI refuses others."""
    everything = folder / "all"
    subprocess.run(
        [
            programs / "lib/media/write_synthetic",
            f"--folder={everything}",
            f"--n={count * 11 // 10}",
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    chosen = folder / "images"
    chosen.mkdir()
    large = [p for p in sorted(everything.iterdir()) if min(jpeg_size(p)) > 223]
    for path in large[:count]:
        path.rename(chosen / path.name)
    shutil.rmtree(everything)
    return chosen


class Scope:
    def __init__(self, name, flags, folder, decoded):
        self.name = name
        shared, peers, self.bars = SCOPES[name]
        self.flags = flags
        shared = [
            *shared,
            f"--folder={folder}",
            f"--workers={flags.workers}",
            f"--items={flags.items}",
        ]
        if flags.batch_size:
            shared.append(f"--batch_size={flags.batch_size}")
        native = flags.bin / "lib/loader/bench_native"
        self.sides = [Side("native", [native, *shared])]
        self.missing = []
        for peer in peers.split():
            if flags.peers and peer not in flags.peers.split(","):
                continue
            command = peer_command(peer)
            if command is None:
                self.missing.append(peer)
                continue
            if "--scope=memory" in shared:
                command.append(f"--decoded={decoded}")
            self.sides.append(Side(peer, [*command, *shared]))
        self.ours = "module" if name == "training" else "native"
        self.rates = {side.name: [] for side in self.sides}
        self.per_cpu_s = {side.name: [] for side in self.sides}
        self.limits = []
        self.held_bytes = 0
        if "--scope=memory" in shared:
            channels = 9 if "--channels=9" in shared else 3
            files = sum(path.stat().st_size for path in decoded.iterdir())
            self.held_bytes = files * channels // 3

    def warm_up(self):
        for side in list(self.sides):
            try:
                side.ask()
            except RuntimeError as error:
                print(f"bench.py: {error}", file=sys.stderr)
                self.missing.append(side.name)
                self.sides.remove(side)
                self.rates.pop(side.name)

    def measure(self):
        shuffle = random.Random(1)
        native = self.sides[0]
        for number in range(self.flags.pairs):
            # Workers of the side before may still be giving memory back; a
            # third of a second is all that native needs for its epoch.
            sides = {
                side.name: lambda side=side: (
                    time.sleep(SETTLE_S) or side.images_per_s()
                )
                for side in self.sides
            }
            seen = bench_common.take_turns(sides, shuffle)
            for name, (rate, per_cpu_s) in seen.items():
                self.rates[name].append(rate)
                self.per_cpu_s[name].append(per_cpu_s)
            if self.name != "training":
                self.limits.append(native.ask("limit")["limit"])
            print(f"{self.name}: round {number + 1}", file=sys.stderr)

    def report(self):
        """Prints the table; the bars that are missed."""
        pss = {side.name: side.pss_bytes() for side in self.sides}
        ours = self.rates[self.ours]
        print(f"\n## {self.name}, {self.flags.pairs} rounds\n")
        print(f"| loader | images/s | {self.ours} / it | 95% | PSS MB |")
        print("|---|---|---|---|---|")
        found = {}
        for name, rates in sorted(
            self.rates.items(), key=lambda row: -statistics.median(row[1])
        ):
            found[name] = interval(ratios(ours, rates))
            self.print_row(name, rates, found[name], pss[name] / 1e6)
        if self.limits:
            found["limit"] = interval(ratios(ours, self.limits))
            self.print_row("limit", self.limits, found["limit"], None)
        if self.name == "training":
            self.report_cpu()
        for peer in self.missing:
            print(f"| {peer} | could not be run | | | |")
        return self.judge(found, pss)

    def report_cpu(self):
        """What a busy machine disturbs least, where everything lives on."""
        print("\n| loader | images per s of CPU time | module / it | 95% | |")
        print("|---|---|---|---|---|")
        ours = self.per_cpu_s[self.ours]
        for name in self.rates:
            rates = self.per_cpu_s[name]
            self.print_row(name, rates, interval(ratios(ours, rates)), None)

    @staticmethod
    def print_row(name, rates, ratio, megabytes):
        middle, low, high = ratio
        memory = "" if megabytes is None else f"{megabytes:,.0f}"
        print(
            f"| {name} | {statistics.median(rates):,.0f} | {middle:.2f} |"
            f" {low:.2f} to {high:.2f} | {memory} |"
        )

    def judge(self, ratios, pss):
        groups = {
            "DALI": [name for name in ratios if name.startswith("dali")],
            "DataLoader": [name for name in ratios if name in DATALOADERS],
            "limit": ["limit"],
            "native": ["native"],
        }
        missed = []
        print()
        if self.limits and ratios["limit"][1] > 1:
            print(f"- the limit is wrong: native is {ratios['limit'][0]:.2f}")
            missed.append("limit")
        for group, bar in self.bars.items():
            # The best of a group is the one that ours beats least.
            found = [(ratios[name][1], name) for name in groups[group]]
            if not found:
                print(f"- {group}: none ran; bar {bar}")
                missed.append(group)
                continue
            low, name = min(found)
            verdict = "ok" if low >= bar else "missed"
            print(
                f"- {group}: {low:.2f} or more ({name}); bar {bar}: {verdict}"
            )
            if low < bar:
                missed.append(group)
        loaders = [pss[name] for name in groups["DataLoader"] if name in pss]
        if loaders:
            share = pss[self.ours] / min(loaders)
            told = f"- PSS: {share:.2f} of a DataLoader's"
            if self.name == "training":
                print(f"{told}; four batches, of which the loop has two")
            elif self.held_bytes:
                print(f"{told}; the images are {self.held_bytes / 1e6:,.0f} MB")
            elif share < 1 / 3:
                print(f"{told}; bar 0.33: ok")
            else:
                print(f"{told}; bar 0.33: missed")
                missed.append("PSS")
        return missed

    def close(self):
        for side in self.sides:
            side.close()


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument("--only", default="decode,memory,nine")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--peers", default="", help="only these, by name")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--items", type=int, default=IMAGES)
    parser.add_argument("--batch_size", type=int, help="of all scopes")
    parser.add_argument("--folder", help="of the images; else a temporary one")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "bazel-bin")
    flags = parser.parse_args()
    for name in flags.only.split(","):
        if name not in SCOPES:
            sys.exit(
                f"bench.py: no scope {name}; there are {', '.join(SCOPES)}"
            )
    for program in ("lib/loader/bench_native", "lib/media/write_synthetic"):
        if not (flags.bin / program).exists():
            sys.exit(f"bench.py: {program} is not built; see --help")
    missed = []
    with tempfile.TemporaryDirectory(dir=flags.folder) as temporary:
        folder = make_images(flags.bin, pathlib.Path(temporary), flags.items)
        decoded = pathlib.Path(temporary) / "decoded"
        if flags.only != "decode":
            subprocess.run(
                [
                    flags.bin / "lib/loader/bench_native",
                    f"--folder={folder}",
                    f"--write_decoded={decoded}",
                ],
                check=True,
            )
        for name in flags.only.split(","):
            scope = Scope(name, flags, folder, decoded)
            try:
                scope.warm_up()
                scope.measure()
                missed += [f"{name}: {bar}" for bar in scope.report()]
            finally:
                scope.close()
    if missed:
        print(f"\nmissed: {', '.join(missed)}")
    sys.exit(3 if missed else 0)


if __name__ == "__main__":
    main()
