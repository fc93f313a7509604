"""Decodes whole JPEG files from memory to arrays of RGB, as the study arXiv
2605.08731 (ternaus/imread_benchmark) does, and prints a row for `duel`.

    bench_peers.py DECODER FOLDER [--threads=N] [--rounds=N]

`bench_peers.py list` names the decoders that are installed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import io
import json
import pathlib
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np

Decode = Callable[[bytes], np.ndarray]


def _opencv() -> Decode:
    import cv2

    cv2.setNumThreads(0)

    def decode(data: bytes) -> np.ndarray:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)

    return decode


def _pillow() -> Decode:
    from PIL import Image

    return lambda data: np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _simplejpeg() -> Decode:
    import simplejpeg

    return simplejpeg.decode_jpeg


def _turbojpeg() -> Decode:
    import turbojpeg

    decoder = turbojpeg.TurboJPEG()
    return lambda data: decoder.decode(data, turbojpeg.TJPF_RGB)


def _imageio() -> Decode:
    import imageio.v3

    return lambda data: imageio.v3.imread(data, extension=".jpg")


def _skimage() -> Decode:
    import skimage.io

    return lambda data: skimage.io.imread(io.BytesIO(data))


def _jpeg4py() -> Decode:
    import jpeg4py

    return lambda data: jpeg4py.JPEG(np.frombuffer(data, np.uint8)).decode()


def _kornia_rs() -> Decode:
    import kornia_rs

    if hasattr(kornia_rs, "decode_image_jpeg"):
        return lambda data: kornia_rs.decode_image_jpeg(data)
    decoder = kornia_rs.ImageDecoder()
    return lambda data: decoder.decode(data)


def _torchvision() -> Decode:
    import torch
    import torchvision.io

    torch.set_num_threads(1)

    def decode(data: bytes) -> np.ndarray:
        encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        mode = torchvision.io.ImageReadMode.RGB
        return (
            torchvision.io.decode_jpeg(encoded, mode).permute(1, 2, 0).numpy()
        )

    return decode


DECODERS = {
    "imageio": _imageio,
    "jpeg4py": _jpeg4py,
    "kornia_rs": _kornia_rs,
    "opencv": _opencv,
    "pillow": _pillow,
    "simplejpeg": _simplejpeg,
    "skimage": _skimage,
    "torchvision": _torchvision,
    "turbojpeg": _turbojpeg,
}


def installed() -> list[str]:
    found = []
    for name, make in DECODERS.items():
        try:
            make()
        except Exception:  # noqa: BLE001 (a library that is broken, or absent)
            continue
        found.append(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("decoder", choices=[*DECODERS, "list"])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    of = parser.parse_args()
    if of.decoder == "list":
        print(*installed())
        return
    decode = DECODERS[of.decoder]()
    paths = sorted(of.folder.rglob("*.jpg"))[:200]
    files = [path.read_bytes() for path in paths]
    first = decode(files[0])
    if first.ndim != 3 or first.shape[2] != 3:
        raise SystemExit(f"{of.decoder}: is of shape {first.shape}, not RGB")

    def share(number: int) -> None:
        for data in files[number :: of.threads]:
            decode(data)

    seconds = []
    with concurrent.futures.ThreadPoolExecutor(of.threads) as pool:
        list(pool.map(share, range(of.threads)))
        used = resource.getrusage(resource.RUSAGE_SELF)
        before = used.ru_utime + used.ru_stime
        for _ in range(of.rounds):
            begin = time.perf_counter()
            list(pool.map(share, range(of.threads)))
            seconds.append((time.perf_counter() - begin) / len(files))
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = (used.ru_utime + used.ru_stime - before) / of.rounds
    median = statistics.median(seconds)
    row = {"schema": 1, "record": "row", "job_id": "0" * 16, "status": "ok"}
    row |= {"mode": "micro", "transform": "whole", "unit": "image"}
    row |= {"items": len(files), "elapsed_s": median * len(files)}
    row |= {"samples_s": [median], "throughput": 1 / median}
    row["usage"] = {"cpu_s": cpu}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
