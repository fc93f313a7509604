#!/usr/bin/env python3
"""Measures stage_dataset against GNU tar on this machine and prints the ratios.

    tools/stage_dataset/bench.py [--tool=PATH] [--pairs=20] [--only=NAME,...]

Each comparison runs the two sides in alternating pairs, the order of each pair
shuffled, so that slow drift in machine speed affects both equally. A ratio is
the other side's time over ours (above 1: we are faster): the median over pairs,
with a 95% bootstrap interval over pairs. "ok" means that the whole interval
lies at or above the bar; a bar of "no slower" is 0.95.

  tmpfs    2 GB, 18,000 files of 110 KB, --no-sync, on --tmpfs; bar 1.3
  disk     the same on --disk, --no-sync; bar 0.95
  synced   the same with sync, against tar && sync -f; bar 0.95
  sha256   with --sha256 on tmpfs, against the larger of the run without it and
           openssl's digest of the same bytes; bar 1/1.15
  empty    1,000,000 empty files on tmpfs; bar 0.95
  memory   the highest resident set of all of the above; bar 64 MB

It needs GNU tar, openssl, and about 5 GB on --tmpfs and 10 GB on --disk.
Creating files soon after deleting others is slow on ext4, which will not use
their inodes again for a while: on disk every run gets a fresh folder, and the
clean-up between batches is followed by a pause.
"""

import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "dev"))

import bench_common  # noqa: E402

FILES = 18000
FILE_BYTES = 110 * 1024
EMPTY_FILES = 1000000
# ext4 leaves inodes alone for a minute after their deletion.
DISK_PAUSE_S = 66
DISK_BATCH = 4


def header(name, size):
    block = bytearray(512)
    fields = (
        (0, name.encode()),
        (100, b"0000644\0"),
        (108, b"0000000\0"),
        (116, b"0000000\0"),
        (124, b"%011o\0" % size),
        (136, b"13727410000\0"),
        (148, b" " * 8),
        (156, b"0"),
        (257, b"ustar\000"),
    )
    for offset, value in fields:
        block[offset : offset + len(value)] = value
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def make_photos(path):
    """Files as photographs are: incompressible, of about one size."""
    rng = random.Random(1)
    noise = rng.randbytes(4 << 20)
    with open(path, "wb") as tar:
        for i in range(FILES):
            size = FILE_BYTES + rng.randrange(-3000, 3000)
            begin = rng.randrange(len(noise) - size)
            name = f"val/n{i % 1000:08d}/ILSVRC2012_val_{i:08d}.JPEG"
            tar.write(header(name, size))
            tar.write(noise[begin : begin + size] + bytes(-size % 512))
        tar.write(bytes(1024))


def make_empty(path):
    with open(path, "wb") as tar:
        for i in range(EMPTY_FILES):
            tar.write(header(f"d{i // 10000:03d}/f{i:07d}", 0))
        tar.write(bytes(1024))


def busy_share(seconds):
    """How much of all processors was in use over the next moments."""

    def ticks():
        with open("/proc/stat") as stat:
            fields = [int(field) for field in stat.readline().split()[1:]]
        return sum(fields[:8]), fields[3] + fields[4]

    before = ticks()
    time.sleep(seconds)
    after = ticks()
    return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])


class Bench:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.tmpfs = os.path.join(args.tmpfs, f"stage_bench.{os.getpid()}")
        self.disk = os.path.join(args.disk, f"stage_bench.{os.getpid()}")
        self.made = 0
        self.failed = False
        for folder in (self.tmpfs, self.disk):
            os.makedirs(folder)

    def close(self):
        for folder in (self.tmpfs, self.disk):
            shutil.rmtree(folder, ignore_errors=True)

    def source(self, name, make):
        path = os.path.join(self.tmpfs, name)
        if not os.path.exists(path):
            make(path)
        return path

    def fresh(self, root):
        self.made += 1
        path = os.path.join(root, f"out{self.made}")
        os.mkdir(path)
        return path

    @staticmethod
    def run(*argv):
        start = time.perf_counter()
        done = subprocess.run(argv, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            sys.exit(
                f"bench.py: exit {done.returncode}: {' '.join(argv)}\n"
                f"{done.stderr}"
            )
        return seconds

    def stage(self, source, dest, *flags):
        return self.run(
            self.args.tool, f"--source={source}", f"--dest={dest}", *flags
        )

    def tar(self, source, dest, sync=False):
        if sync:
            return self.run(
                "sh",
                "-c",
                'tar -xf "$1" -C "$2" && sync -f "$2"',
                "sh",
                source,
                dest,
            )
        return self.run("tar", "-xf", source, "-C", dest)

    def wait_until_idle(self):
        """On a shared machine: wait for the others, but not for ever."""
        end = time.monotonic() + self.args.wait_idle
        while time.monotonic() < end and busy_share(0.3) > 0.1:
            pass

    def compare(self, name, other, ours, bar, root):
        """`other` and `ours` take a fresh folder and return seconds."""
        on_disk = root == self.disk

        def side(measure):
            folder = self.fresh(root)
            seconds = measure(folder)
            if not on_disk:
                shutil.rmtree(folder)
            return seconds

        sides = {"other": lambda: side(other), "ours": lambda: side(ours)}
        pairs = []
        for i in range(-1, self.args.pairs):  # The first pair is a warm-up.
            self.wait_until_idle()
            seen = bench_common.take_turns(sides, self.rng)
            if i >= 0:
                pairs.append(seen)
            if on_disk and (i + 1) % DISK_BATCH == 0:
                shutil.rmtree(root)
                os.mkdir(root)
                os.sync()
                time.sleep(DISK_PAUSE_S)
            print(
                f"{name} {i + 1}/{self.args.pairs}: other "
                f"{seen['other']:.3f} s, ours {seen['ours']:.3f} s",
                file=sys.stderr,
            )
        self.report(name, pairs, bar)

    def report(self, name, pairs, bar):
        ratios = [pair["other"] / pair["ours"] for pair in pairs]
        middle, low, high = bench_common.interval(ratios, self.rng, draws=4000)
        verdict = "ok" if low >= bar else "below" if high < bar else "unclear"
        self.failed |= verdict != "ok"
        seconds = [
            statistics.median(p[side] for p in pairs)
            for side in ("other", "ours")
        ]
        print(
            f"{name:8} {middle:.3f}x  95% [{low:.3f}, "
            f"{high:.3f}]  bar {bar:.2f} {verdict}  n={len(pairs)}  other "
            f"{seconds[0]:.3f} s, ours {seconds[1]:.3f} s",
            flush=True,
        )

    def tmpfs_bench(self):
        photos = self.source("photos.tar", make_photos)
        self.compare(
            "tmpfs",
            lambda d: self.tar(photos, d),
            lambda d: self.stage(photos, d, "--no-sync"),
            1.3,
            self.tmpfs,
        )

    def disk_bench(self):
        photos = self.source("photos.tar", make_photos)
        self.compare(
            "disk",
            lambda d: self.tar(photos, d),
            lambda d: self.stage(photos, d, "--no-sync"),
            0.95,
            self.disk,
        )

    def synced_bench(self):
        photos = self.source("photos.tar", make_photos)
        self.compare(
            "synced",
            lambda d: self.tar(photos, d, sync=True),
            lambda d: self.stage(photos, d),
            0.95,
            self.disk,
        )

    def sha256_bench(self):
        photos = self.source("photos.tar", make_photos)

        def larger(folder):
            digest = self.run("openssl", "dgst", "-sha256", photos)
            return max(digest, self.stage(photos, folder, "--no-sync"))

        self.compare(
            "sha256",
            larger,
            lambda d: self.stage(photos, d, "--no-sync", "--sha256=compute"),
            1 / 1.15,
            self.tmpfs,
        )

    def empty_bench(self):
        empty = self.source("empty.tar", make_empty)
        self.compare(
            "empty",
            lambda d: self.tar(empty, d),
            lambda d: self.stage(empty, d, "--no-sync"),
            0.95,
            self.tmpfs,
        )

    def memory_bench(self):
        """Runs the tool alone, or tar would be counted too."""
        peaks = []
        for source, make in (
            ("photos.tar", make_photos),
            ("empty.tar", make_empty),
        ):
            path = self.source(source, make)
            for stdin in (False, True):
                folder = self.fresh(self.tmpfs)
                with open(path, "rb") as archive:
                    _, usage = bench_common.resources(
                        [
                            self.args.tool,
                            "--no-sync",
                            f"--dest={folder}",
                            "--sha256=compute",
                            f"--source={'-' if stdin else path}",
                        ],
                        stdin=archive,
                        stderr=subprocess.DEVNULL,
                    )
                peaks.append(usage.ru_maxrss / 1000)
                shutil.rmtree(folder)
        verdict = "ok" if max(peaks) < 64 else "below"
        self.failed |= verdict != "ok"
        print(
            f"memory   {max(peaks):.1f} MB at most  bar 64 MB {verdict}",
            flush=True,
        )


def main():
    parser = bench_common.parser(__doc__)
    parser.add_argument(
        "--tool", default="bazel-bin/tools/stage_dataset/stage_dataset"
    )
    parser.add_argument("--tmpfs", default="/dev/shm")
    parser.add_argument("--disk", default="/tmp")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--wait-idle",
        type=float,
        default=0,
        metavar="SECONDS",
        help="wait so long at most before each pair for idle processors",
    )
    parser.add_argument(
        "--only", default="tmpfs,empty,sha256,memory,disk,synced"
    )
    args = parser.parse_args()
    if not os.access(args.tool, os.X_OK):
        sys.exit(
            f"bench.py: {args.tool} is missing; build it: bazel build "
            "//tools/stage_dataset"
        )
    bench = Bench(args)
    try:
        for name in args.only.split(","):
            measure = getattr(bench, name + "_bench", None)
            if measure is None:
                sys.exit(f"bench.py: --only={name} is unknown; see --help")
            measure()
    finally:
        bench.close()
    sys.exit(3 if bench.failed else 0)


if __name__ == "__main__":
    main()
