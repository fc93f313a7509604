#!/usr/bin/env python3
"""The parts of gpu_check.sh in Python: images, environments and checks.

gpu_check.py images FOLDER COUNT     PNG files of 256x256
gpu_check.py rows ROWS LIBRARY       exit 3 unless all rows of LIBRARY are good
gpu_check.py oom ROWS                exit 3 unless some are oom and others ok
gpu_check.py environment GROUP FOLDER
                                     a Python environment that runners find:
                                     this one's torch, and the group's wheels of
                                     the folder. Prints its Python; exit 3 where
                                     a wheel is missing, 1 where it cannot be
                                     imported
gpu_check.py pins GROUP              what to fetch for such a folder
gpu_check.py clips ROWS [LIBRARY...] exit 3 unless rows of clips are all good,
                                     and each library has some
gpu_check.py ways FOLDER             exit 3 unless trainings of `ways` are what
                                     was asked for
gpu_check.py clips_of PEER FILE...   clips per second of PyNvVideoCodec (pynv)
                                     or torchcodec, as nvdec_check times them
gpu_check.py index FOLDER [ROUNDS]   images per second of the loader from JPEG
                                     files, by turns: engines and 12 workers,
                                     an index and 12 or 16, 16 cores alone
"""

import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time
import zipfile
import zlib

_SIDE = 256
_WITHOUT_LIMIT = ("RandomResizedCrop", "RandomCrop224", "CenterCrop224")
# What is imported of a group, and its wheels: the first must be there, others
# may be packages of this Python.
_WHEELS = {
    "cvcuda": ("cvcuda", ["cvcuda_cu13"]),
    "dali": (
        "nvidia.dali",
        [
            *("nvidia_dali_cuda130", "nvidia_nvimgcodec_cu13"),
            *("nvidia_libnvcomp_cu13", "nvidia_nvjpeg", "nvtx", "optree"),
            *("gast", "astunparse", "six", "makefun", "libcst", "pyyaml"),
            *("packaging", "typing_extensions", "wheel"),
        ],
    ),
    "torch_stack": ("kornia", ["kornia", "kornia_rs"]),
}
_IMPORT_LIMIT_S = 60
# Groups of env_set current; the others are of the paper's.
_CURRENT = ("torch_stack",)


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
        if row["mode"] == "micro" and row["status"] == "ok":
            if label in ("different", "noop"):
                problems.append(f"{what}: {label} from the reference")
            if not label:
                problems.append(f"{what}: not compared with the reference")
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
    # Those that read other pixels than a crop of 224 have no limit, nor has
    # DALI: what its mixed decoder could do at most is not known.
    known = row["library"] != "dali"
    if (
        known
        and not row.get("limit")
        and row["transform"] not in _WITHOUT_LIMIT
    ):
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


def _lock_of(group):
    env_set = "current" if group in _CURRENT else "paper"
    return pathlib.Path(f"configs/requirements/{env_set}/{group}.lock")


def pins(group):
    """name==version of the group's wheels, as its lock has them."""
    locked = {
        name.lower().replace("-", "_"): f"{name}=={version}"
        for name, version in re.findall(
            r"(?m)^([\w.-]+)==([^\s\\;]+)", _lock_of(group).read_text()
        )
    }
    return [locked[name] for name in _WHEELS[group][1]]


def find_wheels(group, folder):
    """Files of the group's wheels, and names of missing wheels."""
    found, missing = [], []
    for name in _WHEELS[group][1]:
        files = sorted(pathlib.Path(folder).glob(f"{name}-*.whl"))
        found += files[-1:]
        if not files:
            missing.append(name)
    return found, missing


def make_environment(group, folder):
    """As dev/python_env.sh names it, without a network."""
    found, missing = find_wheels(group, folder)
    if _WHEELS[group][1][0] in missing:
        print(f"{folder} has no {_WHEELS[group][1][0]}-*.whl")
        return 3
    lock = hashlib.sha256(_lock_of(group).read_bytes()).hexdigest()
    name = f"{group}-{lock[:16]}-py3"
    place = pathlib.Path(os.environ["XDG_CACHE_HOME"], "feedrate/venvs", name)
    if not (place / ".complete").exists():
        if missing:
            print(f"{folder} has no {', '.join(missing)}: this Python's own")
        # What was cut off.
        shutil.rmtree(place, ignore_errors=True)
        _fill(place, found)
    python = place / "bin/python"
    problem = _import_problem(python, _WHEELS[group][0])
    if problem:
        print(f"{python}: {problem}")
        return 1
    (place / ".complete").touch()
    print(python)
    return 0


def _fill(place, wheels):
    import torch

    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "venv", "--system-site-packages"),
            *("--without-pip", str(place)),
        ],
        check=True,
    )
    (packages,) = place.glob("lib/python3*/site-packages")
    # An environment of another one does not see that one's packages.
    (packages / "torch.pth").write_text(
        f"{pathlib.Path(torch.__file__).parent.parent}\n"
    )
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)


def _import_problem(python, module):
    """The last line of what an import says, if it fails."""
    try:
        done = subprocess.run(
            [python, "-c", f"import {module}"],
            capture_output=True,
            text=True,
            timeout=_IMPORT_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"import {module} takes more than {_IMPORT_LIMIT_S} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return f"import {module}: {lines[-1] if lines else done.returncode}"


def check_clips(rows, *libraries):
    """Problems of rows of clips; says what decoders differ by."""
    problems = [] if rows else ["no rows"]
    there = {row["library"] for row in rows}
    problems += [f"no rows of {one}" for one in libraries if one not in there]
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
        f" frames compared, {decode.get('cpu_frames', 0)} decoded by the CPU"
    )
    # How others make RGB of what the engine gives is theirs; the row says so.
    ours = row["library"] == "nvdec"
    if ours and same["label"] not in ("exact", "equivalent"):
        yield f"{same['label']}: {same['reference']}"
    if decode.get("wrong_frames"):
        yield f"{decode['wrong_frames']} wrong frames"
    if not row.get("gpu", {}).get("clocks_mhz"):
        yield "without clocks"
    if row.get("limit", {}).get("name") != "nvdec":
        yield "without the engine's limit"


def check_ways(folder):
    """Problems of the trainings of gpu_check.sh, part `ways`."""
    rows = {
        path.stem[len("ways_") :]: read_rows(path)
        for path in pathlib.Path(folder).glob("ways_*.jsonl")
    }
    problems = [
        f"{name}: {row['library']}: {row['status']}: {row['reason']}"
        for name, list_ in rows.items()
        for row in list_
        if row["status"] != "ok"
    ]
    problems += [f"{name}: no rows" for name in rows if not rows[name]]
    if problems:
        return problems

    def hold(truth, problem):
        if not truth:
            problems.append(problem)

    for row in rows["precisions"]:
        train = row["train"]
        what = f"{row['library']} {train['precision']}"
        print(
            f"{what}: {train.get('engine', '')} {row['throughput']:.0f}/s,"
            f" {row['energy']['gpu_j']:.0f} J,"
            f" loss {train['first_loss']:.4f} to {train['last_loss']:.4f};"
            f" {train.get('method', '')}"
        )
        fused = row["library"] == "feedrate" and train["precision"] == "bf16"
        hold((train.get("engine") == "fused") == fused, f"{what}: engine")
        hold(
            ("loss_scale" in train) == (train["precision"] == "fp16"),
            f"{what}: loss_scale",
        )
    hold(len(rows["precisions"]) == 8, "precisions: not 8 rows")
    for row in rows["profiles"]:
        kernels = row["train"].get("kernels", [])
        parts = {kernel["part"] for kernel in kernels}
        hold({"forward", "backward"} <= parts, f"{row['library']}: {parts}")
        ranges = [k["name"] for k in kernels if k["name"].startswith("##")]
        hold(not ranges, f"{row['library']}: no kernels: {ranges}")
    pairs = (("same_1", "same_2", 0.0), ("fp32_cuda", "fp32_cpu", 1e-4))
    for one, two, bound in pairs:
        losses = (rows[name][0]["train"]["losses"] for name in (one, two))
        gap = max(abs(a - b) / abs(a) for a, b in zip(*losses, strict=True))
        print(f"losses of {one} and {two} differ by {gap:.2e} at most")
        hold(gap <= bound, f"{one}, {two}: {gap} is more than {bound}")
    for row in rows["validation"]:
        print(row["train"]["engine"], row["train"]["validations"])
        hold(row["train"]["engine"] == "fused", "validation: not fused")
        hold(len(row["train"]["validations"]) == 3, "validation: not 3 times")
    return problems


def pynv_reader(file):
    """A function that opens `file` again and decodes frames of it. The decoder
    is used again."""
    # Not at the top, like torchcodec: only these need them.
    import PyNvVideoCodec

    decoder = PyNvVideoCodec.SimpleDecoder(
        file, output_color_type=PyNvVideoCodec.OutputColorType.RGB
    )

    def read(choose):
        decoder.reconfigure_decoder(file)
        return decoder.get_batch_frames_by_index(choose(len(decoder)))

    return read


def torchcodec_reader(file):
    """The same; torchcodec itself uses decoders of closed files again."""
    from torchcodec.decoders import VideoDecoder

    def read(choose):
        decoder = VideoDecoder(file, device="cuda")
        return decoder.get_frames_at(choose(len(decoder))).data

    return read


def time_clips(reader, *files):
    """Clips of 16 frames as RGB on the GPU; opening the file counts."""
    import torch

    def uniform(frames, _):
        return [round(i * (frames - 1) / 15) for i in range(16)]

    def consecutive(frames, item):
        first = random.Random(item).randrange(frames - 15)
        return list(range(first, first + 16))

    def clip(read, rule, item):
        got = read(lambda frames: rule(frames, item))
        torch.cuda.synchronize()
        if len(got) != 16:
            raise ValueError(f"{len(got)} frames, not 16")

    for file in files:
        for rule in (uniform, consecutive):
            name = f"{pathlib.Path(file).name:18} {rule.__name__:11}"
            try:
                read = reader(file)
                clip(read, rule, -1)
                start = time.perf_counter()
                for item in range(20):
                    clip(read, rule, item)
                seconds = time.perf_counter() - start
            except Exception as error:
                reason = re.sub(r"\s+", " ", str(error))
                print(f"{name} {type(error).__name__}: {reason[:300]}")
                continue
            print(f"{name} {20 / seconds:.0f} clips per second", flush=True)


# The first is what the others are compared with.
_SIDES = {
    "engines, 12 workers": [],
    "index, 12 workers": ["--jpeg_index"],
    "index, 16 workers": ["--jpeg_index", "--workers=16"],
    "16 cores alone": ["--nvjpeg=off", "--workers=16"],
}
_EPOCH = 4096


class _Side:
    """A bench_cuda that runs an epoch when it is told to."""

    def __init__(self, *flags):
        self._process = subprocess.Popen(
            ["bin/bench_cuda", f"--items={_EPOCH}", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.rates = []
        self.cpu_s = []

    def _used(self):
        text = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text()
        user, system = text.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def run(self):
        before = self._used()
        print(file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        self.rates.append(answer["items"] / answer["elapsed_s"])
        self.cpu_s.append(self._used() - before)

    def end(self):
        self._process.stdin.close()
        self._process.wait()


def _mean_of(values):
    """With its 95% interval, by resampling."""
    draws = random.Random(1)
    means = sorted(
        statistics.fmean(draws.choices(values, k=len(values)))
        for _ in range(2000)
    )
    return statistics.fmean(values), means[50], means[1949]


def time_index(folder, rounds):
    for work in ("crop", "resized_crop"):
        sides = {
            name: _Side(f"--folder={folder}", f"--work={work}", *flags)
            for name, flags in _SIDES.items()
        }
        # The first makes the index.
        for side in sides.values():
            for _ in range(3):
                side.run()
            side.rates.clear()
            side.cpu_s.clear()
        order = list(sides.values())
        for _ in range(rounds):
            random.shuffle(order)
            for side in order:
                side.run()
        first = next(iter(sides.values()))
        for name, side in sides.items():
            rate = "{:,.0f} [{:,.0f}, {:,.0f}]".format(*_mean_of(side.rates))
            ratios = zip(side.rates, first.rates, strict=True)
            times = "{:.2f} [{:.2f}, {:.2f}]".format(
                *_mean_of([a / b for a, b in ratios])
            )
            used = statistics.fmean(side.cpu_s) / _EPOCH * 1e6
            print(
                f"{work:13}{name:21}{rate} images/s, times {times},"
                f" {used:.0f} us of CPU per image",
                flush=True,
            )
            side.end()


def main(arguments):
    command, path, *rest = arguments
    if command == "environment":
        return make_environment(path, rest[0])
    if command == "pins":
        print("\n".join(pins(path)))
        return 0
    if command == "images":
        make_images(path, int(rest[0]))
        return 0
    if command == "clips_of":
        readers = {"pynv": pynv_reader, "torchcodec": torchcodec_reader}
        time_clips(readers[path], *rest)
        return 0
    if command == "index":
        time_index(path, int(rest[0]) if rest else 26)
        return 0
    checks = {"oom": check_oom, "clips": check_clips, "rows": check_rows}
    if command == "ways":
        problems = check_ways(path)
    else:
        problems = checks[command](read_rows(path), *rest)
    # Runs of a row fail alike.
    for problem in dict.fromkeys(problems):
        print(f"  {problem}")
    return 3 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
