"""plain_timing.py does the same work as the entries it is compared with.

    <environment>/bin/python -m library_tests.plain_timing_test \
        --configs=configs LIBRARY...

Its parameters are written out a second time on purpose. This test compares its
outputs with those of configs/transforms.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

import numpy as np
import params
import plain_timing
import process_setup
import server
from testing import worker
from testing.cells import LAYOUTS, cells_of, inputs_of, photograph

NAMES = {
    "flip": "HorizontalFlip",
    "blur": "GaussianBlur",
    "rotate": "Rotate",
    "equalize": "Equalize",
    "jpeg": "JpegCompression",
}
SIZE = (60, 80)


def seed(library, operation):
    random.seed(5)
    params.generator.seed(5)
    if library in ("torchvision", "kornia"):
        operation.seed(5)


def difference(library, file, transform, cell):
    """Largest difference between the two outputs of one image."""
    operation = file.make(cell.prepare())
    array = inputs_of(library, 3, [SIZE])[0]
    image = file.input_of(array, LAYOUTS.get(library, "HWC"))
    _, load, run = plain_timing.LIBRARIES[library](transform)
    seed(library, operation)
    plain = run(load(photograph(*SIZE, 0)))
    seed(library, operation)
    ours = operation.call(image)
    plain, ours = (np.asarray(output, np.float64) for output in (plain, ours))
    if plain.shape != ours.shape:
        return f"{plain.shape} and {ours.shape}"
    if library == "albumentationsx" and transform == "rotate":
        return 0  # It draws from a generator that a plain user never seeds.
    return np.abs(plain - ours).max()


def printed(library, transform, corpus):
    """The lines of a run of the script."""
    done = subprocess.run(
        [
            *(sys.executable, "-B", plain_timing.__file__),
            f"--library={library}",
            f"--transform={transform}",
            f"--corpus=/proc/{os.getpid()}/fd/{corpus}",
            "--passes=2",
        ],
        stdout=subprocess.PIPE,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def faults_of(library, configs, corpus):
    file = server.load_library(library, [server.FOLDER / "libraries"])
    cells = {c.transform: c for c in cells_of(configs, "image-rgb", library)}
    for transform, name in NAMES.items():
        found = difference(library, file, transform, cells[name])
        if found != 0:
            yield f"{library} {transform}: the outputs differ by {found}"
    lines = printed(library, "flip", corpus)
    if [line["items"] for line in lines] != [3, 3]:
        yield f"{library}: printed {lines}"
    if min(line["median_s"] for line in lines) <= 0:
        yield f"{library}: printed {lines}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=pathlib.Path, required=True)
    parser.add_argument("libraries", nargs="+")
    flags = parser.parse_args()
    process_setup.avoid_hidden_sve()
    corpus = worker.write_corpus([photograph(*SIZE, i) for i in range(3)])
    faults = [
        fault
        for library in flags.libraries
        for fault in faults_of(library, flags.configs, corpus)
    ]
    print(*faults, f"{len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
