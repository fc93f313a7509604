#!/usr/bin/env python3
"""What torchvision and Kornia make of the work that cuda_bench times.

    python3 bench_peers.py [--batch=256] [--samples=21]

Needs torch, torchvision and, where it is there, Kornia. Timed as cuda_bench
does: CUDA events, a warm-up, L2 filled with other data before each sample, the
median. `per sample` loops over the images, each with draws of its own; the
other rows take one draw for the batch unless the library draws for each image.
"""

import argparse
import statistics
import time

import torch
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as tvf

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
FLUSH_BYTES = 512 << 20
WARM_UP_S = 0.2


def time_call(call, samples):
    """Median seconds of a call, L2 cold."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    end_at = time.monotonic() + WARM_UP_S
    while time.monotonic() < end_at:
        call()
        torch.cuda.synchronize()
    seconds = []
    for _ in range(samples):
        flush.fill_(1)
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) * 1e-3)
    return statistics.median(seconds)


def torchvision_rows(byte_images, float_images):
    """Yields (name, call) over whole batches, then image by image."""
    recipe = v2.Compose(
        [
            v2.RandomCrop(224),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    jitter = v2.ColorJitter(0.4, 0.4, 0.4, 0.1)
    affine = v2.RandomAffine(
        25,
        translate=(0.1, 0.1),
        scale=(0.9, 1.1),
        interpolation=v2.InterpolationMode.BILINEAR,
    )
    blur = v2.GaussianBlur(5, 2.0)

    def resize(images):
        return tvf.resize(images, [512, 512], antialias=False)

    yield "torchvision: crop flip normalize f32", lambda: recipe(byte_images)
    yield "torchvision: color jitter f32 256x256", lambda: jitter(float_images)
    yield (
        "torchvision: affine bilinear f32 256x256",
        lambda: affine(float_images),
    )
    yield "torchvision: gaussian blur 5x5 f32", lambda: blur(float_images)
    yield "torchvision: resize f32 256 to 512", lambda: resize(float_images)

    def one_by_one(transform, images):
        return lambda: torch.stack([transform(image) for image in images])

    yield (
        "torchvision per sample: crop flip normalize f32",
        one_by_one(recipe, byte_images),
    )
    yield (
        "torchvision per sample: color jitter",
        one_by_one(jitter, float_images),
    )
    yield "torchvision per sample: affine", one_by_one(affine, float_images)
    yield (
        "torchvision per sample: gaussian blur",
        one_by_one(blur, float_images),
    )


def resized_rows(photos):
    """Yields (name, call): windows that differ cannot be one batch."""
    flip = v2.RandomHorizontalFlip()
    normalize = v2.Compose(
        [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    )
    for antialias in (False, True):
        crop = v2.RandomResizedCrop(224, antialias=antialias)

        def call(crop=crop):
            made = torch.stack([flip(crop(photo)) for photo in photos])
            return normalize(made)

        yield (
            "torchvision per sample: resized crop"
            + (" antialias" if antialias else ""),
            call,
        )


def kornia_rows(byte_images, float_images):
    """Yields (name, call); Kornia draws for each image of a batch."""
    for draws_on in ("cpu", "cuda"):
        yield from _kornia_rows(byte_images, float_images, draws_on)


def _kornia_rows(byte_images, float_images, draws_on):
    # Not at the top: the other rows need no Kornia.
    import kornia.augmentation as K

    def ready(augmentation):
        # Else each call copies its output to the host, for show() and save().
        augmentation.disable_features = True
        augmentation.set_rng_device_and_dtype(
            torch.device(draws_on), torch.float32
        )
        return augmentation

    mean = torch.tensor(MEAN, device="cuda")
    std = torch.tensor(STD, device="cuda")
    # Its other way of cropping, slices, is a loop over the images.
    crop = ready(K.RandomCrop((224, 224), p=1.0, cropping_mode="resample"))
    flip = ready(K.RandomHorizontalFlip(p=0.5))
    normalize = ready(K.Normalize(mean, std))
    jitter = ready(K.ColorJitter(0.4, 0.4, 0.4, 0.1, p=1.0))
    affine = ready(
        K.RandomAffine(25.0, translate=(0.1, 0.1), scale=(0.9, 1.1), p=1.0)
    )
    blur = ready(K.RandomGaussianBlur((5, 5), (2.0, 2.0), p=1.0))
    resize = ready(K.Resize((512, 512), antialias=False, p=1.0))
    name = f"kornia, draws on {draws_on}"
    yield (
        f"{name}: crop flip normalize f32",
        lambda: normalize(flip(crop(byte_images.float() / 255))),
    )
    yield f"{name}: color jitter f32", lambda: jitter(float_images)
    yield f"{name}: affine bilinear f32", lambda: affine(float_images)
    yield f"{name}: gaussian blur 5x5 f32", lambda: blur(float_images)
    yield f"{name}: resize f32 256 to 512", lambda: resize(float_images)


def print_rows(rows, batch, samples):
    while True:
        try:
            name, call = next(rows)
        except StopIteration:
            return
        except ImportError as error:
            print(f"left out: {error}", flush=True)
            return
        count = max(3, samples // 4) if "per sample" in name else samples
        try:
            print(
                f"{name:52} {batch / time_call(call, count):10.0f}", flush=True
            )
        except (RuntimeError, ValueError, TypeError) as error:
            print(f"{name:52} failed: {str(error).splitlines()[0]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--samples", type=int, default=21)
    args = parser.parse_args()
    torch.manual_seed(1)
    shape = (args.batch, 3, 256, 256)
    byte_images = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
    float_images = byte_images.float() / 255
    photos = torch.randint(
        0, 256, (args.batch, 3, 375, 500), dtype=torch.uint8, device="cuda"
    )
    print(f"{'images/s, L2 cold':52} {'':10}")
    with torch.no_grad():
        for rows in (torchvision_rows, kornia_rows):
            print_rows(
                rows(byte_images, float_images), args.batch, args.samples
            )
        print_rows(resized_rows(photos), args.batch, args.samples)


if __name__ == "__main__":
    main()
