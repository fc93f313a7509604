"""Cells of configs/transforms and the matrix, and small images for them."""

import dataclasses

import numpy as np
from testing.textproto import all_of, one_of, parse
from testing.transforms import transforms_of

CHANNELS = {"image-rgb": 3, "image-9ch": 9}
# Libraries that make a transform a member of the set when two have it.
PUBLIC = {
    "image-rgb": ["albumentationsx", "torchvision", "kornia", "pillow"],
    "image-9ch": ["albumentationsx", "torchvision", "kornia"],
    "video-16f": ["albumentationsx", "torchvision", "kornia"],
}
LAYOUTS = {"torchvision": "CHW", "kornia": "CHW"}
# Height and width; one is smaller than the crops, none is a multiple of 4.
SIZES = [(230, 275), (275, 190)]


@dataclasses.dataclass
class Cell:
    """One transform of one library."""

    scenario: str
    library: str
    transform: str
    native_op: str
    params: list
    wrap: str
    # The matrix's reason why it cannot be measured; empty if it can.
    unsupported: str
    # What a loader does to the batch.
    batch_transform: str = ""

    def __str__(self):
        return f"{self.scenario} {self.library} {self.transform}"

    def prepare(self):
        """The command for a child, with one thread."""
        return {
            "op": "prepare",
            "library": self.library,
            "transform": self.transform,
            "native_op": self.native_op,
            "params": self.params,
            "wrap": self.wrap,
            "scenario": self.scenario,
            "device": "cpu",
            "seed": 42,
            "opencv_threads": 0,
            "opencv_opencl": False,
            "torch_intra_op": 1,
            "torch_inter_op": 1,
        }


def cells_of(
    configs, scenario, library, profile="paper", mode="micro", wanted="paper"
):
    """Cells of a mode on the CPU, in the order of the file. `wanted` is the
    set: the paper's, or `training`."""
    matrix = parse((configs / "matrix.textproto").read_text())
    for transform in transforms_of(configs, scenario):
        entries = all_of(transform, "implementations")
        have_it = {one_of(entry, "library") for entry in entries}
        members = have_it.intersection(PUBLIC[scenario])
        if len(members) < 2 or one_of(transform, "left_out"):
            continue
        if one_of(transform, "set", "paper") != wanted:
            continue
        for entry in entries:
            modes = all_of(entry, "modes")
            if (
                one_of(entry, "library") == library
                and one_of(entry, "params_profile", "paper") == profile
                and (not modes or mode in modes)
            ):
                name = one_of(transform, "name")
                yield Cell(
                    scenario,
                    library,
                    name,
                    one_of(entry, "native_op"),
                    all_of(entry, "params"),
                    one_of(entry, "wrap"),
                    unsupported(matrix, scenario, library, name, mode),
                    one_of(transform, "batch_transform"),
                )


def unsupported(matrix, scenario, library, transform, mode="micro"):
    for exception in all_of(matrix, "exceptions"):
        if (
            scenario in all_of(exception, "scenario")
            and one_of(exception, "library") == library
            and one_of(exception, "mode", mode) == mode
            and one_of(exception, "device", "cpu") == "cpu"
            and transform in all_of(exception, "transforms")
        ):
            return one_of(exception, "reason")
    return ""


def photograph(height, width, seed):
    """Smooth shapes, an edge and some grain, so that a blur, a change of
    contrast or an equalization changes it."""
    noise = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        np.sin(x / (17 + 5 * c)) + np.cos(y / (23 + 7 * c)) for c in range(3)
    ]
    image = 100 + 35 * np.stack(waves, axis=2)
    image[height // 3 : height // 2, width // 4 : width // 2] += 50
    image += noise.normal(0, 6, image.shape)
    return np.clip(image, 5, 240).astype(np.uint8)


def inputs_of(library, channels, sizes=SIZES):
    """Images as the policy gives them to the library."""
    images = [photograph(h, w, seed) for seed, (h, w) in enumerate(sizes)]
    images = [np.concatenate([i] * (channels // 3), axis=2) for i in images]
    if LAYOUTS.get(library) == "CHW":
        images = [np.ascontiguousarray(i.transpose(2, 0, 1)) for i in images]
    if library == "kornia":
        images = [i.astype(np.float32) / np.float32(255) for i in images]
    return images
