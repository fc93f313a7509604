#!/usr/bin/env python3
"""Runs our loader for the GPU and DALI's alternately on the same files.

    gpu_duel_dali.py --folder=images [--rounds=10] [--seconds=120]
    gpu_duel_dali.py --folder=images --sides=module,ours,dali --rounds=20

A round of a kind of work is one epoch of each side; they go in turn, and
backwards in every second round. Each epoch is written to --output when it is
over, as one line, so that the next call with the same --output continues one
that was cut off. Only rounds with all sides count. At the end it prints, for
each kind of work, images per second and the ratio of the first side to each
other one: the geometric mean over rounds, with its 95% interval (Student's t of
the logarithms).

  ours    the C++ loader, by bench_cuda. Its threads start and end in each epoch
  module  feedrate.Loader with device="cuda" in Python, over the same C++ loader
  dali    device "mixed". Its graph and threads stay between epochs

All do the same: files to float32 NCHW batches on the device, a crop of 224 or a
random-resized-crop, flipped half of the time, normalized. --ours, --module and
--dali replace a side by a command that answers each line with
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
_HERE = pathlib.Path(__file__).resolve()
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


def summary(works, sides, rounds):
    """Lines about complete rounds: {(work, round): {side: epoch}}."""
    lines = []
    for work in works:
        complete = [
            all_sides
            for (of, _), all_sides in sorted(rounds.items())
            if of == work and all(side in all_sides for side in sides)
        ]
        if not complete:
            lines.append(f"{work:14} no round is complete")
            continue
        rates = {
            side: [r[side]["items"] / r[side]["elapsed_s"] for r in complete]
            for side in sides
        }
        first, *others = sides
        lines += [
            f"{work:14} rounds {len(complete):3}"
            f"  {first} {statistics.fmean(rates[first]):8.0f}"
            f"  {other} {statistics.fmean(rates[other]):8.0f}"
            + ratio_text(bench_common.ratios(rates[first], rates[other]))
            for other in others
        ]
    return lines


def ratio_text(ratios):
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    text = f"  ratio {math.exp(mean):.3f}"
    if len(logs) == 1:
        return text
    half = (
        quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    )
    return (
        text
        + f"  95% {math.exp(mean - half):.3f} to {math.exp(mean + half):.3f}"
    )


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
    common.append(f"--work={work}")
    workers = f"--workers={flags.workers}"
    python = [sys.executable, str(_HERE)]
    given = {
        side: shlex.split(command)
        for side in flags.sides
        if (command := getattr(flags, side))
    }
    own = {
        "ours": lambda: [_bench_cuda()],
        "module": lambda: [*python, "--side=module"],
        "dali": lambda: [*python, "--side=dali"],
    }
    more = {"dali": f"--threads={flags.threads}"}
    return {
        side: [*(given.get(side) or own[side]()), *common]
        + [more.get(side, workers)]
        for side in flags.sides
    }


def _bench_cuda():
    """Beside this file in a bundle, else where Bazel leaves it."""
    for path in (
        _HERE.parent / "bin/bench_cuda",
        _HERE.parent.parent / "bazel-bin/lib/loader/cuda/bench_cuda",
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
            if not set(flags.sides) <= set(rounds.get((work, number), {}))
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
            order = flags.sides[:: -1 if number % 2 else 1]
            # All anew, so that they were measured within the same minute.
            rounds[work, number] = {}
            for name in order:
                record = {"work": work, "round": number, "side": name}
                record |= sides[name].epoch()
                rounds[work, number][name] = record
                with path.open("a") as out:
                    out.write(json.dumps(record) + "\n")
        for side in sides.values():
            side.close()
    for line in summary(flags.works, flags.sides, rounds):
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


def jpegs(folder):
    files = sorted(
        str(path)
        for path in pathlib.Path(folder).rglob("*")
        if path.suffix.lower() in (".jpg", ".jpeg")
    )
    if not files:
        raise SystemExit(f"{folder} has no JPEG files")
    return files


def module_side(flags):
    """As a training loop uses it; its step does nothing."""
    # Beside this file in a bundle, else in the checkout.
    for place in (_HERE.parent / "python", _HERE.parent.parent / "python"):
        sys.path.append(str(place))
    import feedrate

    files = jpegs(flags.folder)
    resized = "RandomResizedCrop" if flags.work == "resized_crop" else None
    loader = feedrate.Loader(
        [files[i % len(files)] for i in range(flags.items)],
        batch_size=flags.batch_size,
        crop=_CROP,
        flip=True,
        transforms=resized,
        labels=[0] * flags.items,
        workers=flags.workers,
        on_error="fail",
        device="cuda",
    )
    for _ in sys.stdin:
        begin = time.perf_counter()
        items = 0
        for images, _labels in loader:
            items += len(images)
        elapsed_s = time.perf_counter() - begin
        print(json.dumps({"items": items, "elapsed_s": elapsed_s}), flush=True)


def dali_side(flags):
    files = jpegs(flags.folder)
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
    parser.add_argument("--sides", default="ours,dali")
    for side in ("ours", "module", "dali"):
        parser.add_argument(f"--{side}", help="a command in its place")
    parser.add_argument(
        "--side", choices=["module", "dali"], help=argparse.SUPPRESS
    )
    parser.add_argument("--work", default="crop", help=argparse.SUPPRESS)
    flags = parser.parse_args(arguments)
    flags.works = flags.works.split(",")
    flags.sides = flags.sides.split(",")
    if unknown := set(flags.sides) - {"ours", "module", "dali"}:
        parser.error(f"--sides: unknown: {', '.join(sorted(unknown))}")
    if flags.items < _AHEAD * flags.batch_size:
        parser.error(f"--items must be at least {_AHEAD} times --batch_size")
    # Both sides deliver whole batches alone.
    flags.items -= flags.items % flags.batch_size
    return flags


def main(arguments):
    flags = parse(arguments)
    if flags.side:
        {"dali": dali_side, "module": module_side}[flags.side](flags)
        return 0
    duel(flags)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
