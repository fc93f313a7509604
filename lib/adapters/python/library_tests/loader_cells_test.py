"""Recipes of the loaders on the CPU, with the versions of the set `paper`.

    <environment>/bin/python -m library_tests.loader_cells_test \
        --configs=configs [--packages=ENV] [--sample] LIBRARY...

For each transform that a library has in the sets of RGB and nine-channel
images, an epoch with two worker processes, and single outputs: right shape and
type, finite, not constant, the same for the same seed. --sample does a few of
them, --device=cuda finishes them on a GPU.
dev/checks/python_loader_test.sh runs it.
"""

import os
import sys
import time

import numpy as np
from library_tests.cells_test import CELLS, ask
from testing import loading, worker
from testing.cells import CHANNELS, LAYOUTS, cells_of, inputs_of
from testing.tally import arguments, run_libraries

# One of each kind: a flip, a crop, another size, colors, noise, geometry.
SAMPLE = {
    "HorizontalFlip",
    "RandomCrop224",
    "RandomResizedCrop",
    "Resize",
    "ColorJitter",
    "GaussianBlur",
    "Affine",
}
# Some recipes only loaders have.
RECIPES = CELLS | {
    ("image-rgb", "pillow"): CELLS["image-rgb", "pillow"] + 3,
    ("image-rgb", "dali"): 28,
}
# Recipes that models are trained with.
TRAINING = {"Mixup", "CutMix", "ThreeAugment"}
ITEMS = 6
IMAGE_SIZES = [(230, 275), (275, 190), (240, 240)]
FLOAT_BYTES = 4


def faults_of(cell, channels, output, layout):
    """What is wrong with one output, a text for each fault."""
    height, width = loading.SIZES.get(cell.transform, (224, 224))
    if layout != "CHW" or output.shape != (channels, height, width):
        yield f"{layout} {output.shape}"
    if output.dtype != np.float32:
        yield f"type {output.dtype}"
    if not np.isfinite(output).all():
        yield "the output is not finite"
    elif output.std() < 0.01:
        yield "the output is constant"


def faults_of_epoch(reply, channels):
    batches = -(-ITEMS // 4)
    if (reply["items"], reply["batches"]) != (ITEMS, batches):
        yield f"{reply['items']} items, {reply['batches']} batches"
    if reply["errors"]:
        yield f"errors {reply['errors']}"
    if reply["bytes_out"] < ITEMS * channels * 224 * 224 * FLOAT_BYTES:
        yield f"{reply['bytes_out']} bytes"
    if len(reply["samples_s"]) != batches or min(reply["samples_s"]) <= 0:
        yield f"samples {reply['samples_s']}"
    if reply["cpu_s"] <= 0:
        yield f"{reply['cpu_s']} s of the processors"


def run_cell(cell, server, corpus, channels, device):
    """The faults of one recipe; it gets its own child, as a job does."""
    child = server.spawn(cell.library, corpus)
    faults = []
    try:
        ask(child, loading.of_cell(cell, channels) | {"device": device})
        outputs, again = child.outputs([0, 1]), child.outputs([0, 1])
        for output, layout in outputs:
            faults += faults_of(cell, channels, output, layout)
        for (first, _), (second, _) in zip(outputs, again, strict=True):
            if not np.array_equal(first, second):
                faults.append("the same seed gave another output")
        reply = ask(child, loading.epoch(ITEMS))
        faults += faults_of_epoch(reply, channels)
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    finally:
        child.close()
    return faults


def check_center(server, library, scenario, channels, cells, device, tally):
    """The deterministic recipe against numpy."""
    (flip,) = [c for c in cells if c.transform == "HorizontalFlip"]
    inputs = inputs_of(library, channels, IMAGE_SIZES)
    plain = inputs_of("numpy", channels, IMAGE_SIZES)
    corpus = worker.write_corpus(inputs, LAYOUTS.get(library, "HWC"))
    child = server.spawn(library, corpus)
    started, faults = time.monotonic(), []
    try:
        prepare = loading.of_cell(flip, channels, crop_position="center")
        ask(child, prepare | {"device": device})
        for i, (output, _) in enumerate(child.outputs(range(len(plain)))):
            wanted = loading.flipped_center(plain[i])
            off = np.abs(output - wanted).max()
            if output.shape != wanted.shape or not off < 1e-5:
                faults.append(f"image {i} is off by {off}")
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    finally:
        child.close()
        os.close(corpus)
    name = f"{scenario} {library} center, flip, normalize"
    tally.add(name, faults, time.monotonic() - started)


def training_cells(configs, library):
    cells = list(
        cells_of(
            configs, "image-rgb", library, mode="pipeline", wanted="training"
        )
    )
    names = {cell.transform for cell in cells}
    assert names == TRAINING, names
    return cells


def run_library(server, flags, library, tally):
    for scenario, channels in CHANNELS.items():
        if (scenario, library) not in RECIPES:
            continue
        cells = list(
            cells_of(
                flags.configs, scenario, library, flags.profile, "pipeline"
            )
        )
        wanted = RECIPES[scenario, library]
        if flags.profile == "paper" and len(cells) != wanted:
            tally.faults.append(
                f"{scenario} {library}: {len(cells)} recipes, not {wanted}"
            )
        if scenario == "image-rgb":
            cells += training_cells(flags.configs, library)
        check_center(
            server, library, scenario, channels, cells, flags.device, tally
        )
        inputs = inputs_of(library, channels)
        corpus = worker.write_corpus(inputs, LAYOUTS.get(library, "HWC"))
        if flags.sample:
            cells = [c for c in cells if c.transform in SAMPLE | TRAINING]
        tally.run_cells(
            cells,
            flags.only,
            run_cell,
            server,
            corpus,
            channels,
            flags.device,
        )
        os.close(corpus)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--profile", default="paper")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--packages", help="the environment with torch")
    parser.add_argument("--sample", action="store_true")
    flags = parser.parse_args()
    packages = [f"--packages={flags.packages}"] if flags.packages else []
    return run_libraries(flags, run_library, "recipes", ["--loader", *packages])


if __name__ == "__main__":
    sys.exit(main())
