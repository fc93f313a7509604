"""Every cell of micro on the CPU, with the versions of the set `paper`.

    <environment>/bin/python cells_test.py --configs=configs LIBRARY...

For each transform that a library has in the sets of RGB and nine-channel
images: two small images go through the server, and the outputs must have the
right shape and type and differ from their inputs. A cell that the matrix calls
unsupported is counted apart. dev/cells_test.sh runs it in each environment.
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np
from testing import worker
from testing.textproto import all_of, one_of, parse

# Cells of the public benchmark (facts of its support matrix).
CELLS = {
    ("image-rgb", "albumentationsx"): 58,
    ("image-rgb", "torchvision"): 27,
    ("image-rgb", "kornia"): 52,
    ("image-rgb", "pillow"): 24,
    ("image-9ch", "albumentationsx"): 42,
    ("image-9ch", "torchvision"): 23,
    ("image-9ch", "kornia"): 41,
}
FILES = {"image-rgb": "rgb.textproto", "image-9ch": "9ch.textproto"}
PUBLIC = ["albumentationsx", "torchvision", "kornia", "pillow"]
# Height and width; one is smaller than the crops, none is a multiple of 4.
SIZES = [(230, 275), (275, 190)]
# Draws that may be tried until one changes the image.
SEEDS = range(7, 23)

# Shape of the output from the input's height and width, where it is another.
CROP = (224, 224)
SHAPES = {
    "RandomCrop224": lambda h, w: CROP,
    "RandomResizedCrop": lambda h, w: CROP,
    "CenterCrop224": lambda h, w: CROP,
    "Resize": lambda h, w: (512, 512),
    "Pad": lambda h, w: (h + 20, w + 20),
    "LongestMaxSize": lambda h, w: fit(h, w, max),
    "SmallestMaxSize": lambda h, w: fit(h, w, min),
    "Transpose": lambda h, w: (w, h),
}


def fit(height, width, side):
    scale = 512 / side(height, width)
    return round(height * scale), round(width * scale)


def right_shape(transform, library, height, width, shape):
    """Whether an output of this height and width is what was asked for."""
    if transform == "RandomRotate90" and library != "kornia":
        return shape in ((height, width), (width, height))
    if transform == "Resize" and library == "torchvision":
        wanted = fit(height, width, min)  # It keeps the aspect.
    else:
        wanted = SHAPES.get(transform, lambda h, w: (h, w))(height, width)
    # Libraries round half a pixel as they please.
    slack = (
        1 if transform in ("LongestMaxSize", "SmallestMaxSize", "Resize") else 0
    )
    return all(abs(a - b) <= slack for a, b in zip(shape, wanted, strict=True))


def photograph(height, width, seed):
    """Smooth shapes, an edge and some grain: nothing that a blur, a change of
    contrast or an equalisation would leave as it is."""
    noise = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        np.sin(x / (17 + 5 * c)) + np.cos(y / (23 + 7 * c)) for c in range(3)
    ]
    image = 100 + 35 * np.stack(waves, axis=2)
    image[height // 3 : height // 2, width // 4 : width // 2] += 50
    image += noise.normal(0, 6, image.shape)
    return np.clip(image, 5, 240).astype(np.uint8)


def inputs_of(library, channels):
    images = [photograph(h, w, seed) for seed, (h, w) in enumerate(SIZES)]
    images = [np.concatenate([i] * (channels // 3), axis=2) for i in images]
    if library in ("torchvision", "kornia"):
        images = [np.ascontiguousarray(i.transpose(2, 0, 1)) for i in images]
    if library == "kornia":
        images = [i.astype(np.float32) / np.float32(255) for i in images]
    return images


def members(configs, scenario):
    """(transform, its implementations by library) of the set."""
    text = (configs / "transforms" / FILES[scenario]).read_text()
    for transform in all_of(parse(text), "transforms"):
        own = {}
        for entry in all_of(transform, "implementations"):
            in_paper = one_of(entry, "params_profile", "paper") == "paper"
            modes = all_of(entry, "modes")
            if in_paper and (not modes or "micro" in modes):
                own[one_of(entry, "library")] = entry
        everyone = [
            one_of(e, "library") for e in all_of(transform, "implementations")
        ]
        public = [name for name in PUBLIC if name in everyone]
        if scenario == "image-9ch":
            public = [name for name in public if name != "pillow"]
        if len(public) >= 2 and not one_of(transform, "left_out"):
            yield one_of(transform, "name"), own


def unsupported(configs, scenario, library, transform):
    """The matrix's reason, or nothing."""
    matrix = parse((configs / "matrix.textproto").read_text())
    for exception in all_of(matrix, "exceptions"):
        if (
            one_of(exception, "scenario") == scenario
            and one_of(exception, "library") == library
            and one_of(exception, "mode", "micro") == "micro"
            and one_of(exception, "device", "cpu") == "cpu"
            and transform in all_of(exception, "transforms")
        ):
            return one_of(exception, "reason")
    return ""


def command(library, scenario, transform, entry):
    return {
        "op": "prepare",
        "library": library,
        "transform": transform,
        "native_op": one_of(entry, "native_op"),
        "params": all_of(entry, "params"),
        "wrap": one_of(entry, "wrap"),
        "scenario": scenario,
        "device": "cpu",
        "seed": 42,
        "opencv_threads": 0,
        "opencv_opencl": False,
        "torch_intra_op": 1,
        "torch_inter_op": 1,
    }


def faults_of(library, transform, inputs, outputs):
    """What is wrong with the outputs, one text each."""
    for image, (output, layout) in zip(inputs, outputs, strict=True):
        chw = layout == "CHW"
        height, width, channels = (
            image.shape if not chw else (*image.shape[1:], image.shape[0])
        )
        shape = output.shape[1:] if chw else output.shape[:2]
        if output.ndim != 3 or output.shape[0 if chw else 2] != channels:
            yield f"shape {output.shape} for {channels} channels"
        elif not right_shape(transform, library, height, width, shape):
            yield f"{height}x{width} became {shape[0]}x{shape[1]}"
        if output.dtype != image.dtype:
            yield f"type {output.dtype} from {image.dtype}"
        if output.dtype == np.float32 and not np.isfinite(output).all():
            yield "the output is not finite"


def unchanged(child, inputs):
    """Indexes of the inputs that come back as they were for every seed: by
    chance one of the four quarter turns, or AlbumentationsX's plasma with a
    factor below zero on uint8, is no change at all."""
    left = set(range(len(inputs)))
    for seed in SEEDS:
        for i, (output, _) in enumerate(
            child.outputs(range(len(inputs)), seed)
        ):
            if not np.array_equal(output, inputs[i]):
                left.discard(i)
        if not left:
            break
    return left


def run_cell(server, corpus, inputs, library, scenario, transform, entry):
    """The faults of one cell; it gets its own child, as a job does."""
    child = server.spawn(library, corpus)
    try:
        reply = child.ask(command(library, scenario, transform, entry))
        if reply is None or "error" in reply:
            return [reply["error"] if reply else "the child died in prepare"]
        if reply["threads"] != 1:
            return [f"{reply['threads']} threads"]
        timed = child.ask({"op": "time", "first": 0, "count": 2, "seed": 7})
        if timed is None or "error" in timed:
            return [timed["error"] if timed else "the child died"]
        if len(timed["samples_s"]) != 2 or min(timed["samples_s"]) <= 0:
            return [f"samples {timed['samples_s']}"]
        outputs = child.outputs([0, 1])
        again = child.outputs([0, 1])
        faults = list(faults_of(library, transform, inputs, outputs))
        for (first, _), (second, _) in zip(outputs, again, strict=True):
            if not np.array_equal(first, second):
                faults.append("the same seed gave another output")
        for i in unchanged(child, inputs):
            faults.append(f"image {i} comes back as it was for every seed")
        return faults
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        child.close()


def run_library(server, configs, library, only):
    """(cells that passed, unsupported ones, lines about the others)."""
    passed, skipped, failures = 0, 0, []
    for scenario, channels in (("image-rgb", 3), ("image-9ch", 9)):
        if (scenario, library) not in CELLS:
            continue
        inputs = inputs_of(library, channels)
        layout = "CHW" if library in ("torchvision", "kornia") else "HWC"
        corpus = worker.write_corpus(inputs, layout)
        cells = 0
        for transform, entries in members(configs, scenario):
            if library not in entries or (only and transform not in only):
                continue
            cells += 1
            if reason := unsupported(configs, scenario, library, transform):
                print(f"unsupported {scenario} {library} {transform}: {reason}")
                skipped += 1
                continue
            started = time.monotonic()
            faults = run_cell(
                server,
                corpus,
                inputs,
                library,
                scenario,
                transform,
                entries[library],
            )
            took = time.monotonic() - started
            cell = f"{scenario} {library} {transform} ({took:.1f} s)"
            failures += [f"{cell}: {fault}" for fault in faults]
            passed += not faults
            print(f"{'FAILED' if faults else 'ok'} {cell}", *faults, flush=True)
        wanted = CELLS[scenario, library]
        if not only and cells != wanted:
            failures.append(
                f"{scenario} {library}: {cells} cells, not {wanted}"
            )
        os.close(corpus)
    return passed, skipped, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=pathlib.Path, required=True)
    parser.add_argument(
        "--only", default="", help="transforms, for one's own use"
    )
    parser.add_argument("libraries", nargs="+")
    flags = parser.parse_args()
    only = set(filter(None, flags.only.split(",")))
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    failures, passed, skipped = [], 0, 0
    with worker.Server(flags.libraries, env=one_thread) as server:
        if "hello" not in server.hello:
            sys.exit(f"the server said {server.hello}")
        print(server.hello)
        for library in flags.libraries:
            done = run_library(server, flags.configs, library, only)
            passed, skipped = passed + done[0], skipped + done[1]
            failures += done[2]
    for line in failures:
        print("FAILED", line)
    print(
        f"{passed} cells passed, {skipped} unsupported, {len(failures)} faults"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
