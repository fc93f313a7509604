"""Cells of micro on clips, on the CPU, with the versions of the set `paper`.

    <environment>/bin/python -m library_tests.clip_cells_test \
        --configs=configs LIBRARY...

For each transform that a library has in the set of clips: a moving and a still
clip of 16 small frames go through the server. The outputs must have the right
shape and type, and be the same for the same seed; of the still clip all frames
must stay the same, since they share one draw of parameters. A cell that the
matrix calls unsupported is counted apart.
dev/checks/clip_cells_test.sh runs it.
"""

import os
import sys

import numpy as np
from library_tests.cells_test import ask, right_shape
from testing import worker
from testing.cells import cells_of, photograph
from testing.tally import arguments, run_libraries

SCENARIO = "video-16f"
FRAMES = 16
# Cells of the public benchmark.
CELLS = {"albumentationsx": 52, "torchvision": 27, "kornia": 51}
HEIGHT, WIDTH = 230, 246
# What is drawn for each pixel is not a parameter, and may differ from frame to
# frame.
DRAWN_FOR_EACH_PIXEL = {"GaussianNoise", "SaltAndPepper"}
# What the libraries do, seen with their own calls alone, on arm64 at least.
HALF_SAMPLING = (
    "torch samples a grid of half precision wrongly on this kind of CPU"
)
DRAWN_ANEW = "Kornia draws the pattern for each frame"
KNOWN = {
    ("kornia", "ChannelShuffle"): (
        "Kornia permutes each frame by itself, whatever same_on_batch says"
    ),
    ("kornia", "PlasmaBrightness"): DRAWN_ANEW,
    ("kornia", "PlasmaContrast"): DRAWN_ANEW,
    ("kornia", "PlasmaShadow"): DRAWN_ANEW,
    ("kornia", "Rain"): DRAWN_ANEW,
    ("kornia", "Affine"): HALF_SAMPLING,
    ("kornia", "Elastic"): HALF_SAMPLING,
    ("kornia", "OpticalDistortion"): HALF_SAMPLING,
    ("kornia", "RandomRotate90"): HALF_SAMPLING,
    ("kornia", "Rotate"): HALF_SAMPLING,
    ("kornia", "Shear"): HALF_SAMPLING,
    ("kornia", "ThinPlateSpline"): HALF_SAMPLING,
    ("torchvision", "Affine"): HALF_SAMPLING,
    ("torchvision", "Perspective"): HALF_SAMPLING,
    ("torchvision", "Rotate"): HALF_SAMPLING,
}


def inputs_of(library):
    """A moving clip and a still one, as the policy gives them."""
    wide = photograph(HEIGHT, WIDTH + FRAMES, 5)
    moving = np.stack([wide[:, t : t + WIDTH] for t in range(FRAMES)])
    still = np.stack([moving[3]] * FRAMES)
    clips = [moving, still]
    if library == "albumentationsx":
        return clips, "HWC"
    return [
        np.ascontiguousarray(clip.transpose(0, 3, 1, 2)).astype(np.float16)
        / np.float16(255)
        for clip in clips
    ], "CHW"


def faults_of(cell, output, layout):
    axes = (2, 3, 1) if layout == "TCHW" else (1, 2, 3)
    if output.ndim != 4 or output.shape[0] != FRAMES:
        yield f"shape {output.shape}"
        return
    if output.shape[axes[2]] != 3:
        yield f"shape {output.shape} for three channels"
    shape = (output.shape[axes[0]], output.shape[axes[1]])
    if not right_shape(cell, HEIGHT, WIDTH, shape):
        yield f"{HEIGHT}x{WIDTH} became {shape[0]}x{shape[1]}"
    if output.dtype == np.float32 and not np.isfinite(output).all():
        yield "the output is not finite"


def still_faults(cell, output):
    if cell.transform in DRAWN_FOR_EACH_PIXEL:
        return
    different = [t for t in range(1, FRAMES) if (output[t] != output[0]).any()]
    if different:
        yield f"frames {different} of a still clip differ from the first"


def run_cell(cell, server, corpus):
    child = server.spawn(cell.library, corpus)
    faults = []
    try:
        threads = ask(child, cell.prepare())["threads"]
        if threads != 1:
            faults.append(f"{threads} threads")
        outputs, again = child.outputs([0, 1]), child.outputs([0, 1])
        for output, layout in outputs:
            faults += faults_of(cell, output, layout)
        if not faults:
            faults += still_faults(cell, outputs[1][0])
        for (first, _), (second, _) in zip(outputs, again, strict=True):
            if not np.array_equal(first, second):
                faults.append("the same seed gave another output")
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    finally:
        child.close()
    return faults


def unknown_faults(cell, server, corpus):
    """Faults of a cell, unless KNOWN has it; says so when it has none of them
    any more."""
    faults = run_cell(cell, server, corpus)
    known = KNOWN.get((cell.library, cell.transform))
    if not known:
        return faults
    print(f"known {cell}: {known}" if faults else f"known no more: {cell}")
    return []


def run_library(server, flags, library, tally):
    inputs, layout = inputs_of(library)
    corpus = worker.write_corpus(inputs, layout)
    cells = list(cells_of(flags.configs, SCENARIO, library))
    if len(cells) != CELLS[library]:
        tally.faults.append(f"{library}: {len(cells)}, not {CELLS[library]}")
    tally.run_cells(cells, flags.only, unknown_faults, server, corpus)
    os.close(corpus)


def main():
    return run_libraries(arguments(__doc__).parse_args(), run_library)


if __name__ == "__main__":
    sys.exit(main())
