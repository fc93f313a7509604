"""Every cell of micro on the CPU, with the versions of the set `paper`.

    <environment>/bin/python -m library_tests.cells_test \
        --configs=configs LIBRARY...

For each transform that a library has in the sets of RGB and nine-channel
images: two small images go through the server, and the outputs must have the
right shape and type, be the same for the same seed, and differ from their
inputs; no call may start a thread. A cell that the matrix calls unsupported is
counted apart.
dev/checks/python_cells_test.sh and dev/checks/torch_cells_test.sh run it.

--profile=matched does the same with those parameters; as there is no list of
them here, neither their number nor the outputs' size is looked at.
"""

import os
import sys

import numpy as np
from testing import worker
from testing.cells import CHANNELS, LAYOUTS, cells_of, inputs_of
from testing.tally import arguments, run_libraries

# Cells of the public benchmark.
CELLS = {
    ("image-rgb", "albumentationsx"): 58,
    ("image-rgb", "torchvision"): 27,
    ("image-rgb", "kornia"): 52,
    ("image-rgb", "pillow"): 24,
    ("image-9ch", "albumentationsx"): 42,
    ("image-9ch", "torchvision"): 23,
    ("image-9ch", "kornia"): 41,
}
# Draws that may be tried until one changes the image.
SEEDS = range(8, 24)
# Height and width of the output from the input's, where they are others.
SHAPES = {
    "RandomCrop224": lambda h, w: (224, 224),
    "RandomResizedCrop": lambda h, w: (224, 224),
    "CenterCrop224": lambda h, w: (224, 224),
    "Resize": lambda h, w: (512, 512),
    "Pad": lambda h, w: (h + 20, w + 20),
    "LongestMaxSize": lambda h, w: fit(h, w, max),
    "SmallestMaxSize": lambda h, w: fit(h, w, min),
    "Transpose": lambda h, w: (w, h),
}
# Libraries round half a pixel as they please.
ROUNDED = {"LongestMaxSize", "SmallestMaxSize", "Resize"}


def fit(height, width, side):
    scale = 512 / side(height, width)
    return round(height * scale), round(width * scale)


def right_shape(cell, height, width, shape):
    """Whether an output of this shape is what the profile `paper` asks for."""
    if cell.transform == "RandomRotate90" and cell.library != "kornia":
        return shape in ((height, width), (width, height))
    if cell.transform == "Resize" and cell.library == "torchvision":
        wanted = fit(height, width, min)  # It keeps the aspect.
    else:
        wanted = SHAPES.get(cell.transform, lambda h, w: (h, w))(height, width)
    slack = 1 if cell.transform in ROUNDED else 0
    return all(abs(a - b) <= slack for a, b in zip(shape, wanted, strict=True))


def faults_of(cell, image, output, layout, sized):
    """What is wrong with one output, a text for each fault."""
    axes = (1, 2, 0) if layout == "CHW" else (0, 1, 2)
    height, width, channels = (image.shape[axis] for axis in axes)
    if output.ndim != 3 or output.shape[axes[2]] != channels:
        yield f"shape {output.shape} for {channels} channels"
        return
    shape = (output.shape[axes[0]], output.shape[axes[1]])
    if sized and not right_shape(cell, height, width, shape):
        yield f"{height}x{width} became {shape[0]}x{shape[1]}"
    if output.dtype != image.dtype:
        yield f"type {output.dtype} from {image.dtype}"
    if output.dtype == np.float32 and not np.isfinite(output).all():
        yield "the output is not finite"


def unchanged(child, inputs, outputs):
    """Indexes of the inputs that come back as they were, whatever the seed. By
    chance alone a quarter turn is none, and so is AlbumentationsX's plasma with
    a factor below zero on uint8."""
    left = set(range(len(inputs)))
    for seed in SEEDS:
        for i, (output, _) in enumerate(outputs):
            if not np.array_equal(output, inputs[i]):
                left.discard(i)
        if not left:
            break
        outputs = child.outputs(range(len(inputs)), seed)
    return left


def ask(child, command):
    reply = child.ask(command)
    if reply is None:
        raise RuntimeError(f"the child died in {command['op']}")
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply


def run_cell(cell, server, corpus, inputs, sized):
    """The faults of one cell; it gets its own child, as a job does."""
    child = server.spawn(cell.library, corpus)
    faults = []
    try:
        threads = ask(child, cell.prepare())["threads"]
        if threads != 1:
            faults.append(f"{threads} threads")
        timed = ask(child, {"op": "time", "first": 0, "count": 2, "seed": 7})
        if len(timed["samples_s"]) != 2 or min(timed["samples_s"]) <= 0:
            faults.append(f"samples {timed['samples_s']}")
        tasks = len(os.listdir(f"/proc/{child.pid}/task"))
        if tasks != 1:
            faults.append(f"{tasks} threads were running")
        outputs, again = child.outputs([0, 1]), child.outputs([0, 1])
        for image, (output, layout) in zip(inputs, outputs, strict=True):
            faults += faults_of(cell, image, output, layout, sized)
        for (first, _), (second, _) in zip(outputs, again, strict=True):
            if not np.array_equal(first, second):
                faults.append("the same seed gave another output")
        for i in unchanged(child, inputs, outputs):
            faults.append(f"image {i} comes back as it was for every seed")
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    finally:
        child.close()
    return faults


def run_library(server, flags, library, tally):
    paper = flags.profile == "paper"
    for scenario, channels in CHANNELS.items():
        if (scenario, library) not in CELLS:
            continue
        inputs = inputs_of(library, channels)
        corpus = worker.write_corpus(inputs, LAYOUTS.get(library, "HWC"))
        cells = list(cells_of(flags.configs, scenario, library, flags.profile))
        wanted = CELLS[scenario, library]
        if paper and len(cells) != wanted:
            tally.faults.append(
                f"{scenario} {library}: {len(cells)} cells, not {wanted}"
            )
        tally.run_cells(
            cells, flags.only, run_cell, server, corpus, inputs, paper
        )
        os.close(corpus)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--profile", default="paper")
    return run_libraries(parser.parse_args(), run_library)


if __name__ == "__main__":
    sys.exit(main())
