#!/usr/bin/env python3
"""What gpu_check.sh needs beside the programs: images, tables and checks.

gpu_check.py images FOLDER COUNT     PNG files of 256x256
gpu_check.py table ROWS              what the rows say, a line each
gpu_check.py rows ROWS LIBRARY       exit 3 unless LIBRARY's are all good
gpu_check.py oom ROWS                exit 3 unless some are oom, others ok
gpu_check.py environment GROUP WHEEL a Python environment that runners find:
                                     this one's torch, and the wheel; 3 without
gpu_check.py clips ROWS              exit 3 unless rows of clips are all good
"""

import hashlib
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import zipfile
import zlib

_SIDE = 256
_WITHOUT_LIMIT = ("RandomResizedCrop", "RandomCrop224", "CenterCrop224")


def make_images(folder, count):
    """Slopes and noise, so that no transform leaves them as they are."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    draw = random.Random(1)
    for i in range(count):
        path = folder / f"{i:05}.png"
        if path.exists():
            continue
        noise = draw.randbytes(3 * _SIDE * _SIDE)
        rows = []
        for y in range(_SIDE):
            row = bytearray(1)
            for x in range(3 * _SIDE):
                slope = (x // 3 + 2 * y + 37 * (x % 3) + 11 * i) & 255
                row.append((3 * slope + noise[y * 3 * _SIDE + x]) >> 2)
            rows.append(bytes(row))
        path.write_bytes(_png(b"".join(rows)))


def _png(rows):
    def chunk(kind, data):
        body = kind + data
        return (
            struct.pack(">I", len(data))
            + body
            + struct.pack(">I", zlib.crc32(body))
        )

    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 1))
        + chunk(b"IEND", b"")
    )


def read_rows(path):
    rows = []
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except FileNotFoundError:
        return rows
    for line in lines:
        record = json.loads(line)
        if record.get("record") == "row" and record["library"] != "null":
            rows.append(record)
    return rows


def show(rows):
    print(
        f"{'transform':18} {'library':12} {'settings':26} {'status':8}"
        f" {'items/s':>10} {'limit':>10} {'equivalence':11} {'MHz':>5}"
        f" {'GPU MB':>7}  notes"
    )
    for row in rows:
        gpu = row.get("gpu", {})
        clocks = gpu.get("clocks_mhz") or [0]
        settings = ",".join(
            f"{name}={value}" for name, value in sorted(row["settings"].items())
        )
        memory = row.get("gpu_memory", {}).get("peak_allocated_bytes", 0)
        notes = [*row["labels"], *row["warnings"]]
        notes += [
            f"throttle:{word}" for word in gpu.get("throttle_reasons", [])
        ]
        if gpu and not gpu.get("warm"):
            notes.append("not warm")
        if row.get("limit"):
            notes.append(f"{row['of_limit']:.0%} of {row['limit']['name']}")
        notes += [
            f"{name} {busy[key]:.0%}"
            for busy in [row.get("loader", {}).get("gpu", {})]
            for name, key in (
                ("busy", "busy"),
                ("JPEG engines", "jpeg_busy"),
                ("video decoder", "decoder_busy"),
            )
            if key in busy
        ]
        print(
            f"{row['transform']:18} {row['library']:12} {settings:26}"
            f" {row['status']:8} {row['throughput']:10.0f}"
            f" {row.get('limit', {}).get('throughput', 0):10.0f}"
            f" {row.get('equivalence', {}).get('label', ''):11}"
            f" {min(clocks):5}"
            f" {memory >> 20:7}"
            f"  {' '.join(notes)} {row['reason'][:120]}"
        )


def check_rows(rows, library):
    """Problems of the library's rows."""
    ours = [row for row in rows if row["library"] == library]
    problems = [] if ours else [f"no rows of {library}"]
    for row in ours:
        what = f"{row['transform']} {row['settings']}"
        if row["status"] != "ok":
            problems.append(f"{what}: {row['status']}: {row['reason']}")
        label = row.get("equivalence", {}).get("label", "")
        # nvJPEG rounds in its own way, so that pipelines may differ.
        if label in ("different", "noop") and row["mode"] == "micro":
            problems.append(f"{what}: {label} from the reference")
        if row["mode"] == "micro" and not row.get("gpu", {}).get("clocks_mhz"):
            problems.append(f"{what}: without clocks")
        if row["mode"] == "pipeline" and row["status"] == "ok":
            problems += [f"{what}: {gap}" for gap in gaps_of_loader(row)]
    return problems


def gaps_of_loader(row):
    """What a row of a loader on a GPU must have and has not."""
    if not row.get("gpu_memory", {}).get("peak_reserved_bytes"):
        yield "without a peak of GPU memory"
    if "busy" not in row["loader"].get("gpu", {}):
        yield "without the GPU's utilisation"
    # Those that read other pixels than a crop of 224 have no limit.
    if not row.get("limit") and row["transform"] not in _WITHOUT_LIMIT:
        yield "without a limit"


def check_oom(rows):
    problems = []
    for row in rows:
        large = row["settings"].get("gpu_batch") == "1000000"
        wanted = "oom" if large else "ok"
        if row["status"] != wanted:
            problems.append(f"{row['settings']}: {row['status']}, not {wanted}")
        # In our words, and in torch's.
        sizes = ("GiB asked", "Tried to allocate")
        if large and not any(size in row["reason"] for size in sizes):
            problems.append(f"{row['settings']}: no size in {row['reason']!r}")
        if large and "free" not in row["reason"]:
            problems.append(f"{row['settings']}: nothing free in the reason")
    return problems if rows else ["no rows"]


def make_environment(group, wheel):
    """As dev/python_env.sh names it, without a network."""
    if not pathlib.Path(wheel).is_file():
        return 3
    lock = pathlib.Path(f"configs/requirements/paper/{group}.lock").read_bytes()
    name = f"{group}-{hashlib.sha256(lock).hexdigest()[:16]}-py3"
    folder = pathlib.Path(os.environ["XDG_CACHE_HOME"], "feedrate/venvs", name)
    if (folder / ".complete").exists():
        return 0
    import torch

    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "venv", "--system-site-packages"),
            *("--without-pip", str(folder)),
        ],
        check=True,
    )
    (packages,) = folder.glob("lib/python3*/site-packages")
    # An environment of another one does not see that one's packages.
    (packages / "torch.pth").write_text(
        f"{pathlib.Path(torch.__file__).parent.parent}\n"
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (folder / ".complete").touch()
    return 0


def check_clips(rows):
    """Problems of rows of clips; says what decoders differ by."""
    problems = [] if rows else ["no rows"]
    for row in rows:
        what = f"{row['library']} {row['mode']} {row['transform']}"
        if row["status"] not in ("ok", "unsupported"):
            problems.append(f"{what}: {row['status']}: {row['reason']}")
        if row["status"] != "ok":
            continue
        if "gpu_memory" not in row and row.get("hardware_class") == "gpu":
            problems.append(f"{what}: without peaks of memory")
        if row["mode"] == "micro" and "limit" not in row:
            problems.append(f"{what}: without a limit")
        if row["mode"] == "decode":
            problems += [f"{what}: {text}" for text in _decode_problems(row)]
    return problems


def _decode_problems(row):
    decode, same = row["decode"], row["equivalence"]
    print(
        f"  {row['library']} {decode['clip_rule']}: {same['label']}, largest"
        f" difference {round(255 * same['max_abs_diff'])} of 255, PSNR"
        f" {same.get('psnr_db', 'infinite')}; {decode['frames_compared']}"
        f" frames compared, {decode['cpu_frames']} decoded by the CPU"
    )
    if same["label"] not in ("exact", "equivalent"):
        yield f"{same['label']}: {same['reference']}"
    if decode.get("wrong_frames"):
        yield f"{decode['wrong_frames']} wrong frames"
    if not row.get("gpu", {}).get("clocks_mhz"):
        yield "without clocks"
    if row.get("limit", {}).get("name") != "nvdec":
        yield "without the engine's limit"


def main(arguments):
    command, path, *rest = arguments
    if command == "environment":
        return make_environment(path, rest[0])
    if command == "images":
        make_images(path, int(rest[0]))
        return 0
    rows = read_rows(path)
    if command == "table":
        show(rows)
        return 0
    checks = {"oom": check_oom, "clips": check_clips, "rows": check_rows}
    problems = checks[command](rows, *rest)
    for problem in problems:
        print(f"  {problem}")
    return 3 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
