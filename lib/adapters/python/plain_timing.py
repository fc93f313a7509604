"""Times five transforms the plain way, to compare with micro's rows.

    <environment>/bin/python plain_timing.py --library=pillow \\
        --transform=blur --images_folder=DIR --count=200

Transforms: flip, blur, rotate, equalize, jpeg, as a user would write them, with
the parameters of the profile `paper`. The only code of feedrate that it uses
reads a corpus and puts the process into a known state (process_setup.py).
Prints one JSON line per pass over the images. With --on_request, a pass waits
for a line on stdin, so that another program can alternate with it.
"""

import argparse
import io
import json
import pathlib
import statistics
import sys
import time

import process_setup


def albumentationsx(transform):
    import albumentations as A
    import cv2
    import numpy as np

    cv2.setNumThreads(0)
    cv2.ocl.setUseOpenCL(False)
    operation = {
        "flip": lambda: A.HorizontalFlip(p=1),
        "blur": lambda: A.GaussianBlur(
            blur_range=(5, 5), sigma_range=(2.0, 2.0), p=1
        ),
        "rotate": lambda: A.Rotate(
            angle_range=(-45, 45),
            interpolation=cv2.INTER_NEAREST,
            border_mode=cv2.BORDER_CONSTANT,
            fill=0,
            p=1,
        ),
        "equalize": lambda: A.Equalize(mode="pil", p=1),
        "jpeg": lambda: A.ImageCompression(quality_range=(50, 50), p=1),
    }[transform]()

    def run(image):
        return np.ascontiguousarray(operation(image=image)["image"])

    return A.__version__, lambda array: array, run


def torchvision(transform):
    import torch
    import torchvision
    from torchvision.transforms import InterpolationMode, v2

    torch.set_num_threads(1)
    operation = {
        "flip": lambda: v2.RandomHorizontalFlip(p=1),
        "blur": lambda: v2.GaussianBlur(kernel_size=(5, 5), sigma=(2.0, 2.0)),
        "rotate": lambda: v2.RandomRotation(
            degrees=(-45, 45), interpolation=InterpolationMode.NEAREST, fill=0
        ),
        "equalize": lambda: v2.RandomEqualize(p=1),
        "jpeg": lambda: v2.JPEG(quality=50),
    }[transform]()

    def load(array):
        return torch.from_numpy(array.copy()).permute(2, 0, 1).contiguous()

    def run(image):
        return operation(image).contiguous()

    return torchvision.__version__.partition("+")[0], load, run


def kornia(transform):
    import kornia
    import kornia.augmentation as K
    import torch

    torch.set_num_threads(1)
    operation = {
        "flip": lambda: K.RandomHorizontalFlip(p=1),
        "blur": lambda: K.RandomGaussianBlur(
            kernel_size=(5, 5), sigma=(2.0, 2.0), p=1
        ),
        "rotate": lambda: K.RandomRotation(degrees=(-45, 45), p=1),
        "equalize": lambda: K.RandomEqualize(p=1),
        "jpeg": lambda: K.RandomJPEG(jpeg_quality=50, p=1),
    }[transform]()

    def load(array):
        tensor = torch.from_numpy(array.copy()).permute(2, 0, 1)
        return (tensor.float() / 255).contiguous()

    def run(image):
        return operation(image.unsqueeze(0)).squeeze(0).contiguous()

    return kornia.__version__, load, run


def pillow(transform):
    import random

    import numpy as np
    import PIL
    from PIL import Image, ImageFilter, ImageOps

    def through_jpeg(image):
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG", quality=50)
        buffer.seek(0)
        return Image.open(buffer).copy()

    operation = {
        "flip": lambda i: i.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        "blur": lambda i: i.filter(ImageFilter.GaussianBlur(radius=2.0)),
        "rotate": lambda i: i.rotate(
            -random.uniform(-45, 45),
            resample=Image.Resampling.NEAREST,
            expand=False,
            fillcolor=0,
        ),
        "equalize": lambda i: ImageOps.equalize(i, mask=None),
        "jpeg": through_jpeg,
    }[transform]

    def run(image):
        return np.ascontiguousarray(operation(image))

    return PIL.__version__, Image.fromarray, run


LIBRARIES = {
    f.__name__: f for f in (albumentationsx, torchvision, kornia, pillow)
}
TRANSFORMS = ("flip", "blur", "rotate", "equalize", "jpeg")


def read_folder(folder, count):
    """RGB arrays of the first files by path, decoded with whatever library is
    installed."""
    paths = sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file())
    try:
        import cv2
    except ImportError:
        import numpy as np
        from PIL import Image

        return [np.asarray(Image.open(p).convert("RGB")) for p in paths[:count]]
    return [cv2.imread(str(p))[:, :, ::-1].copy() for p in paths[:count]]


def read_corpus(path, count):
    from corpus import Corpus

    with open(path, "rb") as file:
        corpus = Corpus(file.fileno())
    if corpus.layout != "HWC" or corpus.dtype != "uint8":
        sys.exit(f"{path}: {corpus.dtype} {corpus.layout}; needs uint8 HWC")
    return [corpus.item(i % len(corpus)) for i in range(count or len(corpus))]


def time_pass(run, images):
    samples = []
    for image in images:
        begin = time.perf_counter_ns()
        output = run(image)
        end = time.perf_counter_ns()
        del output
        samples.append((end - begin) / 1e9)
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=LIBRARIES, required=True)
    parser.add_argument("--transform", choices=TRANSFORMS, required=True)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--images_folder")
    source.add_argument("--corpus", help="uint8 HWC; /proc/PID/fd/N works too")
    parser.add_argument("--count", type=int, help="images; all by default")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--on_request", action="store_true")
    flags = parser.parse_args()

    process_setup.settle_malloc()
    process_setup.avoid_hidden_sve()
    version, load, run = LIBRARIES[flags.library](flags.transform)
    arrays = (
        read_folder(flags.images_folder, flags.count)
        if flags.images_folder
        else read_corpus(flags.corpus, flags.count)
    )
    images = [load(array) for array in arrays]
    time_pass(run, images)
    for number, _ in enumerate(
        sys.stdin if flags.on_request else range(flags.passes)
    ):
        samples = time_pass(run, images)
        line = {
            "library": flags.library,
            "version": version,
            "transform": flags.transform,
            "pass": number,
            "items": len(samples),
            "median_s": statistics.median(samples),
            "mean_s": statistics.fmean(samples),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
