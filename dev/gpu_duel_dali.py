#!/usr/bin/env python3
"""Runs our loader for the GPU and DALI's alternately on the same files.

    gpu_duel_dali.py --folder=images [--rounds=10] [--seconds=120]

A round of a kind of work is one epoch of each side; who goes first changes from
round to round. Each epoch is written to --output when it is over, as one line,
so that the next call with the same --output continues one that was cut off.
Only rounds with both sides count. At the end it prints, for each kind of work,
images per second of both sides and the ratio ours / DALI: the geometric mean
over rounds, with its 95% interval (Student's t of the logarithms).

Both do the same: files to float32 NCHW batches on the device, a crop of 224 or
a random-resized-crop, flipped half of the time, normalized. DALI decodes with
device "mixed". Its graph and threads stay between epochs; ours start and end in
each. --ours and --dali replace the two by commands that answer each line with
{"items":…,"elapsed_s":…}.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import statistics
import sys
import time

import bench_common

_MEAN = (0.485, 0.456, 0.406)
_STD = (0.229, 0.224, 0.225)
_CROP = 224
# Batches that DALI works ahead.
_AHEAD = 2
_WORKS = ("crop", "resized_crop")
# Two-sided 95% of Student's t, by degrees of freedom.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def quantile(freedom):
    return _T95[freedom - 1] if freedom <= len(_T95) else 1.96


class Side(bench_common.Asked):
    def epoch(self):
        try:
            return self.ask("epoch")
        except bench_common.Ended as ended:
            raise SystemExit(
                f"{ended} with {ended.code}; its words are above"
            ) from None


def summary(works, rounds):
    """Lines about complete rounds: {(work, round): {side: epoch}}."""
    lines = []
    for work in works:
        pairs = [
            both
            for (of, _), both in sorted(rounds.items())
            if of == work and len(both) == 2
        ]
        if not pairs:
            lines.append(f"{work:14} no round is complete")
            continue
        rates = {
            side: [b[side]["items"] / b[side]["elapsed_s"] for b in pairs]
            for side in ("ours", "dali")
        }
        both = zip(rates["ours"], rates["dali"], strict=True)
        logs = [math.log(ours / dali) for ours, dali in both]
        mean = statistics.fmean(logs)
        text = (
            f"{work:14} rounds {len(pairs):3}"
            f"  ours {statistics.fmean(rates['ours']):8.0f}"
            f"  DALI {statistics.fmean(rates['dali']):8.0f}"
            f"  ratio {math.exp(mean):.3f}"
        )
        if len(logs) > 1:
            half = (
                quantile(len(logs) - 1)
                * statistics.stdev(logs)
                / math.sqrt(len(logs))
            )
            text += (
                f"  95% {math.exp(mean - half):.3f}"
                f" to {math.exp(mean + half):.3f}"
            )
        lines.append(text)
    return lines


def read_rounds(path):
    rounds = {}
    for record in bench_common.read_records(path):
        key = (record["work"], record["round"])
        rounds.setdefault(key, {})[record["side"]] = record
    return rounds


def commands(flags, work):
    common = [
        f"--folder={flags.folder}",
        f"--items={flags.items}",
        f"--batch_size={flags.batch_size}",
    ]
    ours = shlex.split(flags.ours) if flags.ours else [_bench_cuda()]
    ours += [*common, f"--work={work}", f"--workers={flags.workers}"]
    if flags.dali:
        dali = shlex.split(flags.dali)
    else:
        dali = [sys.executable, os.path.abspath(__file__), "--side=dali"]
    dali += [*common, f"--work={work}", f"--threads={flags.threads}"]
    return {"ours": ours, "dali": dali}


def _bench_cuda():
    """Beside this file in a bundle, else where Bazel leaves it."""
    here = pathlib.Path(__file__).resolve().parent
    for path in (
        here / "bin/bench_cuda",
        here.parent / "bazel-bin/lib/loader/cuda/bench_cuda",
    ):
        if path.exists():
            return str(path)
    raise SystemExit(
        "no bench_cuda: run bazel build --config=cuda"
        " //lib/loader/cuda:bench_cuda, or name a command with --ours"
    )


def duel(flags):
    """True when time is left."""
    path = pathlib.Path(flags.output)
    rounds = read_rounds(path)
    deadline = time.monotonic() + flags.seconds
    in_time = True
    for work in flags.works:
        missing = [
            number
            for number in range(flags.rounds)
            if len(rounds.get((work, number), {})) < 2
        ]
        if not missing or not in_time:
            continue
        sides = {
            name: Side(name, command)
            for name, command in commands(flags, work).items()
        }
        for side in sides.values():
            side.epoch()  # Warms up: memory, page cache, clocks.
        for number in missing:
            if time.monotonic() > deadline:
                in_time = False
                break
            order = ["ours", "dali"] if number % 2 == 0 else ["dali", "ours"]
            # Both anew, so that they were measured within the same minute.
            rounds[work, number] = {}
            for name in order:
                record = {"work": work, "round": number, "side": name}
                record |= sides[name].epoch()
                rounds[work, number][name] = record
                with path.open("a") as out:
                    out.write(json.dumps(record) + "\n")
        for side in sides.values():
            side.close()
    for line in summary(flags.works, rounds):
        print(line, flush=True)
    if not in_time:
        print("time was up; the same command carries on", flush=True)
    return in_time


def dali_graph(flags, files):
    from nvidia.dali import Pipeline, fn, types

    pipeline = Pipeline(
        batch_size=flags.batch_size,
        num_threads=flags.threads,
        device_id=0,
        seed=1,
        prefetch_queue_depth=_AHEAD,
    )
    with pipeline:
        encoded, _ = fn.readers.file(
            files=files, labels=[0] * len(files), name="files"
        )
        if flags.work == "resized_crop":
            images = fn.decoders.image_random_crop(
                encoded,
                device="mixed",
                output_type=types.RGB,
                random_area=[0.08, 1.0],
                random_aspect_ratio=[0.75, 4 / 3],
            )
            images = fn.resize(
                images,
                size=[_CROP, _CROP],
                interp_type=types.INTERP_LINEAR,
                antialias=False,
            )
            place = {}
        else:
            images = fn.decoders.image(
                encoded, device="mixed", output_type=types.RGB
            )
            place = {
                "crop": (_CROP, _CROP),
                "crop_pos_x": fn.random.uniform(range=(0.0, 1.0)),
                "crop_pos_y": fn.random.uniform(range=(0.0, 1.0)),
                "out_of_bounds_policy": "pad",
            }
        images = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mirror=fn.random.coin_flip(),
            mean=[255 * value for value in _MEAN],
            std=[255 * value for value in _STD],
            **place,
        )
        pipeline.set_outputs(images)
    pipeline.build()
    return pipeline


def dali_epoch(pipeline, batches, is_first):
    """Exactly so many runs: what it would work ahead belongs to nobody."""
    waiting = batches - min(_AHEAD, batches)
    # The first call of all fills the queue by itself.
    for _ in range(1 if is_first else batches - waiting):
        pipeline.schedule_run()
    items = 0
    for _ in range(batches):
        (batch,) = pipeline.share_outputs()
        items += len(batch)
        del batch
        pipeline.release_outputs()
        if waiting:
            pipeline.schedule_run()
            waiting -= 1
    return items


def dali_side(flags):
    files = sorted(
        str(path)
        for path in pathlib.Path(flags.folder).rglob("*")
        if path.suffix.lower() in (".jpg", ".jpeg")
    )
    if not files:
        raise SystemExit(f"{flags.folder} has no JPEG files")
    try:
        pipeline = dali_graph(flags, files)
    except ImportError:
        raise SystemExit(
            "no DALI in this Python; pip install nvidia-dali-cuda130, or name"
            " another with PYTHON"
        ) from None
    batches = flags.items // flags.batch_size
    for number, _ in enumerate(sys.stdin):
        begin = time.perf_counter()
        items = dali_epoch(pipeline, batches, is_first=number == 0)
        elapsed_s = time.perf_counter() - begin
        print(json.dumps({"items": items, "elapsed_s": elapsed_s}), flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    cores = os.cpu_count() or 1
    parser.add_argument("--folder", required=True, help="of JPEG files")
    parser.add_argument("--output", default="duel_dali.jsonl")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--items", type=int, default=4096)
    parser.add_argument("--batch_size", type=int, default=256)
    # Three feed the engines, one is left to this program.
    parser.add_argument("--workers", type=int, default=max(1, cores - 4))
    parser.add_argument("--threads", type=int, default=cores, help="of DALI")
    parser.add_argument("--works", default=",".join(_WORKS))
    parser.add_argument("--ours", help="a command in its place")
    parser.add_argument("--dali", help="a command in its place")
    parser.add_argument("--side", choices=["dali"], help=argparse.SUPPRESS)
    parser.add_argument("--work", default="crop", help=argparse.SUPPRESS)
    flags = parser.parse_args(arguments)
    flags.works = flags.works.split(",")
    if flags.items < _AHEAD * flags.batch_size:
        parser.error(f"--items must be at least {_AHEAD} times --batch_size")
    # Both sides deliver whole batches alone.
    flags.items -= flags.items % flags.batch_size
    return flags


def main(arguments):
    flags = parse(arguments)
    if flags.side == "dali":
        dali_side(flags)
        return 0
    duel(flags)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
