#!/usr/bin/env python3
"""Measures how fast the files of a folder load here, and what that would feed.

    feedrate bench FOLDER [--output=feedrate_bench] [--libraries=A,B]

FOLDER has images, videos, or episodes (LeRobot or RLDS). Each loader that is
installed reads them as a training does, on all processors, in runs that
alternate; one minute for images. Prints which is fastest and how sure that is,
what limits it, and the share of common trainings that it would keep busy. Rows
and a page with charts go to the folder --output.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import stat
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# A bundle has this file in libexec, a checkout in tools/pipeline.
BUNDLE = HERE.parent if HERE.name == "libexec" else None
ROOT = BUNDLE or HERE.parents[1]

IMAGES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm"}
VIDEOS = {".mp4", ".mkv", ".avi", ".mov", ".webm"}
# Files and folders that a look at a folder counts at most.
MOST_FILES = 1_000_000

# What is measured of files of a kind, and in which words. `items` per run.
Kind = collections.namedtuple(
    "Kind", "program flags items libraries unit units task"
)
KINDS = {
    "image": Kind(
        "pipeline",
        [
            "--config=configs/native/rgb_pipeline_cpu.textproto",
            "--transforms=RandomResizedCrop",
            "--batch_size=64",
        ],
        400,
        "native,torchvision,dali,pillow",
        "image",
        "images",
        "random crops resized to 224 x 224, normalized, batches of 64",
    ),
    "video": Kind(
        "video",
        ["--config=configs/native/video_pipeline_cpu.textproto"],
        48,
        "ffmpeg,albumentationsx,torchvision",
        "video",
        "clips",
        "clips of 16 frames, flipped, normalized, batches of 8",
    ),
    "episode": Kind(
        "mixture",
        ["--config=configs/mixture/demo.textproto"],
        0,
        "native",
        "data set",
        "pairs",
        "pairs of frames, all data sets mixed by their weights",
    ),
}

# Images per second that trainings take, on one GPU, in half precision.
SOURCES = [
    "published in NVIDIA's DeepLearningExamples, PyTorch 21.03",
    "measured in docs/train.md",
]
CONSUMERS = [
    ("EfficientNet-B4, V100 16 GB", 204, 1),
    ("EfficientNet-B4, A100 80 GB", 331, 1),
    ("ResNet-50, V100 16 GB", 1200, 1),
    ("ResNet-50, A100 80 GB", 2470, 1),
    ("vit5_base, H200, torch.compile", 3021, 2),
    ("vit5_small, H200, torch.compile", 7840, 2),
    ("vit5_small, H200, feedrate's step", 11937, 2),
]


def printable(text):
    """Names of files and folders may have characters that a terminal obeys."""
    return "".join(
        c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text
    )


def say(text, **more):
    print(printable(text), **more)


def mistake(text):
    sys.exit(printable(f"bench: {text}"))


def status_of(path):
    """Of what a link leads to; None where that cannot be looked at."""
    try:
        return os.stat(path)
    except OSError:
        return None


def walk(folder, most=MOST_FILES, seconds=math.inf):
    """(path, status) of the files of a folder, of at most so many entries.
    Links to folders are followed, and each folder is looked into once."""
    end = time.monotonic() + seconds
    waiting, seen, looked_at = [folder], set(), 0
    while waiting:
        place = waiting.pop()
        try:
            names = [entry.name for entry in os.scandir(place)]
        except OSError:
            continue
        # A virtual environment has files of programs, not of yours.
        if "pyvenv.cfg" in names:
            continue
        for name in names:
            looked_at += 1
            if looked_at > most or time.monotonic() > end:
                return
            path = os.path.join(place, name)
            status = status_of(path)
            if status is None:
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield pathlib.Path(path), status
            elif (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                waiting.append(path)


def kind_of(path):
    """What a file is for; one file describes a data set of episodes."""
    if path.suffix.lower() in IMAGES:
        return "image"
    if path.suffix.lower() in VIDEOS:
        return "video"
    describes = ("dataset_info.json", "mixture.textproto")
    if path.name in describes or path.parts[-2:] == ("meta", "info.json"):
        return "episode"
    return None


def look_at(folder, most=MOST_FILES, seconds=math.inf):
    """(kind, number of files, bytes) of what a folder has most of, or None."""
    counts, sizes = collections.Counter(), collections.Counter()
    for path, status in walk(folder, most, seconds):
        if stat.S_ISREG(status.st_mode):
            counts[kind_of(path)] += 1
            sizes[kind_of(path)] += status.st_size
    if counts["episode"]:
        # Images and videos beside it belong to its episodes.
        return "episode", counts["episode"], sum(sizes.values())
    kind = max(("image", "video"), key=lambda kind: counts[kind])
    return (kind, counts[kind], sizes[kind]) if counts[kind] else None


def checked(folder):
    """What look_at finds, or one line that says why it finds nothing."""
    try:
        next(os.scandir(folder), None)
    except OSError as error:
        mistake(f"{folder}: {error.strerror}; name a folder with your files")
    found = look_at(folder)
    if found is None:
        endings = " ".join(sorted(IMAGES | VIDEOS))
        mistake(
            f"{folder}: no images, videos or episodes; it reads {endings},"
            " LeRobot and RLDS"
        )
    return found


def in_words(kind, count):
    unit = KINDS[kind].unit
    return f"{count:,} {unit}" + ("s" if count != 1 else "")


def program(name):
    built = f"bazel-bin/tools/{name}/{name}"
    return ROOT / (f"bin/{name}" if BUNDLE else built)


def require(*names):
    """Ends in one line where programs are missing, before any work."""
    missing = [name for name in names if not program(name).exists()]
    if missing and BUNDLE:
        mistake(f"{BUNDLE} lacks {', '.join(missing)}; use a whole bundle")
    if missing:
        mistake(f"not built yet: {', '.join(missing)}; make build")


def run(name, *arguments, quiet=False):
    """Ends as the program does where it fails. Not quiet: with its progress."""
    done = subprocess.run(
        [program(name), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
    )
    # 3: some files cannot be used, which the rows tell.
    if done.returncode not in (0, 3):
        print(done.stderr or "", end="", file=sys.stderr)
        sys.exit(done.returncode)


def measure(kind, flags, count, rows, *more, quiet=False):
    what = KINDS[kind]
    arguments = [
        *what.flags,
        # A name such as synthetic:x is a data set of ours.
        f"--dataset={os.path.abspath(flags.folder)}",
        "--stable_within=0",
        # On a busy machine it goes on, and says so below.
        "--quiet_wait=5",
        "--skip_missing",
        "--format=jsonl",
        f"--output={rows}",
        *more,
    ]
    if kind != "episode":
        arguments.append(f"--num_items={min(count, what.items)}")
        arguments.append(f"--workers={processors()}")
    run(what.program, *arguments, quiet=quiet)


def records_of(text, kind):
    return [
        r for r in map(json.loads, text.splitlines()) if r["record"] == kind
    ]


def processors():
    return len(os.sched_getaffinity(0))


def aggregated(rows, *flags):
    """What `aggregate` says of each loader, the fastest first."""
    command = [program("aggregate"), "--by=library", "--format=jsonl"]
    done = subprocess.run(
        [*command, *flags, os.path.abspath(rows)],
        capture_output=True,
        text=True,
    )
    # 5: no loader has a row that counts.
    if done.returncode not in (0, 5):
        sys.exit(done.stderr.strip() or done.returncode)
    found = records_of(done.stdout, "aggregate")
    return sorted(found, key=lambda r: -r.get("median", 0))


def named(record):
    return record["by"]["library"]


def is_ok(record):
    return record["status"] == "ok"


def range_of(record):
    """The interval of the median; of few runs there is none."""
    if "interval" not in record:
        return "too few runs"
    return (
        f"{record['interval']['low']:,.0f} to {record['interval']['high']:,.0f}"
    )


def speed_lines(rows):
    """The table of loaders; and the fastest record, or None."""
    found = aggregated(rows)
    if not found or not is_ok(found[0]):
        return [f"  {named(r)}: {r['status']}" for r in found], None
    best = named(found[0])
    lines = []
    for record in aggregated(rows, f"--relative_to={best}", "--any_work"):
        line = f"  {named(record):<16}"
        if not is_ok(record):
            lines.append(line + record["status"])
            continue
        line += f"{record['median']:>9,.0f}   {range_of(record):<20}"
        ratio = record.get("speed_up", {})
        if named(record) != best and ratio.get("low"):
            line += f"{1 / ratio['ratio']:.2f} times slower than {best}"
            line += f" ({1 / ratio['high']:.2f} to {1 / ratio['low']:.2f})"
        lines.append(line.rstrip())
    return lines, found[0]


def verdict(rows, best):
    """Which is fastest, how sure that is, and whether all did the same."""
    found = aggregated(rows, f"--relative_to={named(best)}", "--any_work")
    found = [r for r in found if is_ok(r)]
    if len(found) == 1:
        yield f"{named(best)} is the only loader that ran here."
    elif any(r["fastest"] for r in found):
        yield f"{named(best)} is fastest; the runs prove it."
    else:
        yield f"{named(best)} leads; the runs do not prove that it is fastest."
    disturbed = sum(r["disturbed"] for r in found)
    if disturbed:
        runs = sum(r["runs"] for r in found)
        yield f"The machine did other work in {disturbed} of {runs} runs."
    labels = collections.defaultdict(list)
    for record in found:
        labels[record["equivalence"]].append(named(record))
    texts = [
        f"{label or 'unchecked'} ({', '.join(labels[label])})"
        for label in labels
    ]
    yield f"Output beside the reference: {', '.join(texts)}."


def limits(kind, flags, count, rows, best):
    """What holds the fastest loader back."""
    own = [
        row
        for row in records_of(rows.read_text(), "row")
        if row["library"] == named(best) and is_ok(row)
    ]
    if kind == "image":
        diagnosed = flags.output / "diagnosis.jsonl"
        diagnosed.unlink(missing_ok=True)
        one = ["--diagnose", "--num_runs=1", f"--libraries={named(best)}"]
        measure(kind, flags, count, diagnosed, *one, quiet=True)
        for row in records_of(diagnosed.read_text(), "row"):
            found = row.get("loader", {}).get("diagnosis")
            if found and row["library"] == named(best):
                yield found["explanation"]
    shares = [row["of_limit"] for row in own if "of_limit" in row]
    if shares:
        name = own[0]["limit"]["name"].replace("_", " ")
        yield f"{100 * statistics.median(shares):.0f}% of its limit, {name}"
    for row in own[:1]:
        loader = row.get("loader", {})
        for error in loader.get("errors", [])[:1]:
            yield (
                f"{loader['errors_total']} of {row['num_items']} files cannot"
                f" be used; the first is {error['path']}: {error['reason']}"
            )


def feed_lines(best):
    """How much of a training's speed the fastest loader reaches."""
    for name, needs, source in CONSUMERS:
        share = f"{min(100, 100 * best['median'] / needs):.0f}%"
        yield f"  {name:<36}{needs:>7,}{share:>8}  [{source}]"
    for number, source in enumerate(SOURCES, 1):
        yield f"  [{number}] {source}"


def main():
    summary, *paragraphs = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(
        prog="feedrate bench",
        description=summary,
        epilog=paragraphs[1],
    )
    # One line and exit 1, as every program.
    parser.error = lambda text: mistake(f"{text}; --help says more")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("feedrate_bench"),
        help="where rows and the page go (%(default)s)",
    )
    parser.add_argument("--libraries", help="loaders to measure: A,B")
    parser.add_argument(
        "--runs", type=int, default=5, help="runs of each (%(default)s)"
    )
    flags = parser.parse_args()
    require("aggregate", "report")
    kind, count, size = checked(flags.folder)
    what = KINDS[kind]
    require(what.program)
    rows = flags.output / "rows.jsonl"
    try:
        flags.output.mkdir(parents=True, exist_ok=True)
        rows.unlink(missing_ok=True)
    except OSError as error:
        mistake(f"--output: {error}")
    part = ""
    if count > what.items > 0:
        part = f"; the first {what.items} are read"
    say(
        f"{in_words(kind, count)}, {size / 1e6:,.0f} MB, in {flags.folder}"
        f"{part}; {processors()} processors; about a minute\n",
        flush=True,
    )
    libraries = flags.libraries or what.libraries
    more = [f"--libraries={libraries}", f"--num_runs={flags.runs}"]
    measure(kind, flags, count, rows, *more)
    lines, best = speed_lines(rows)
    say(f"\nHow fast do they load? {what.units.capitalize()} per second:")
    say(f"{what.task}")
    say("\n".join(lines))
    if best is None:
        mistake(f"no loader could read them; the rows in {rows} say why")
    say("\n".join(f"  {line}" for line in verdict(rows, best)))
    held = list(limits(kind, flags, count, rows, best))
    if held:
        say(f"\nWhat limits {named(best)}?")
        say("\n".join(f"  {line}" for line in held))
    if kind == "image":
        say(
            f"\nWhat would {named(best)} keep busy? Images per second that a"
            " training takes on\none GPU, and how much of the time it works"
        )
        say("\n".join(feed_lines(best)))
    page = flags.output / "report.html"
    run(
        "report",
        os.path.abspath(rows),
        "--any_work",
        f"--output={page}",
        quiet=True,
    )
    say(f"\nThe page with charts: {page.resolve()}")


if __name__ == "__main__":
    main()
