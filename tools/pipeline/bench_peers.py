"""Runs one loader as a user would write it: an epoch per line of input.

    bench_peers.py --peer=torchvision --scope=decode --folder=DIR

Every peer does the same: decode, a random crop of 224, a flip half of the time,
normalize, float32 NCHW batches. Plain code on purpose, without any code of
feedrate but its Python module, which is a peer. Answers each line with
{"items":…, "elapsed_s":…}. With --persistent, what an epoch needs is started
before.
"""

import argparse
import json
import os
import pathlib
import random
import site
import sys
import time

CROP = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def files(flags):
    return sorted(str(path) for path in pathlib.Path(flags.folder).iterdir())


def decoded(flags):
    """The images in memory: arrays HWC; of nine channels by repetition."""
    import numpy

    arrays = []
    for path in sorted(pathlib.Path(flags.decoded).iterdir()):
        height, width = (int(n) for n in path.stem.split("_")[1:])
        image = numpy.fromfile(path, numpy.uint8).reshape(height, width, 3)
        if flags.channels != 3:
            image = numpy.tile(image, (1, 1, flags.channels // 3))
        arrays.append(image)
    return arrays


def corner(height, width):
    """Where a crop lies. Smaller images are padded by the caller."""
    return (
        random.randint(0, max(0, height - CROP)),
        random.randint(0, max(0, width - CROP)),
    )


def padded(image):
    import numpy

    down = max(0, CROP - image.shape[0])
    across = max(0, CROP - image.shape[1])
    if down or across:
        image = numpy.pad(image, ((0, down), (0, across), (0, 0)))
    return image


def repeated(values, flags):
    return values * (flags.channels // 3)


# DataLoader: what an item becomes, by library. `source` is a path or an array.


def torchvision_item(flags):
    import torch
    from torchvision.io import ImageReadMode, decode_image
    from torchvision.transforms import v2

    transform = v2.Compose(
        [
            v2.RandomCrop(CROP, pad_if_needed=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(repeated(MEAN, flags), repeated(STD, flags)),
        ]
    )

    def item(source):
        if isinstance(source, str):
            image = decode_image(source, mode=ImageReadMode.RGB)
        else:
            image = torch.from_numpy(source).permute(2, 0, 1)
        return transform(image).contiguous()

    return item


def albumentationsx_item(flags):
    import albumentations
    import cv2
    import torch

    cv2.setNumThreads(0)
    transform = albumentations.Compose(
        [
            albumentations.RandomCrop(CROP, CROP, pad_if_needed=True),
            albumentations.HorizontalFlip(p=0.5),
            albumentations.Normalize(
                repeated(MEAN, flags), repeated(STD, flags)
            ),
        ]
    )

    def item(source):
        if isinstance(source, str):
            source = cv2.cvtColor(cv2.imread(source), cv2.COLOR_BGR2RGB)
        image = transform(image=source)["image"]
        return torch.from_numpy(image.transpose(2, 0, 1)).contiguous()

    return item


def pillow_item(flags):
    import numpy
    import torch
    from PIL import Image, ImageOps

    mean = numpy.array(MEAN, numpy.float32) * 255
    scale = 1 / (numpy.array(STD, numpy.float32) * 255)

    def item(source):
        if isinstance(source, str):
            image = Image.open(source).convert("RGB")
        else:
            image = Image.fromarray(source)
        y, x = corner(image.height, image.width)
        image = image.crop((x, y, x + CROP, y + CROP))
        if random.random() < 0.5:
            image = ImageOps.mirror(image)
        pixels = (numpy.asarray(image) - mean) * scale
        return torch.from_numpy(pixels.transpose(2, 0, 1)).contiguous()

    return item


def nothing_item(flags):
    import torch

    ready = torch.zeros(flags.channels, CROP, CROP)
    return lambda source: ready


def dataloader(flags):
    import torch
    from torch.utils.data import DataLoader, Dataset

    torch.set_num_threads(1)
    sources = decoded(flags) if flags.scope == "memory" else files(flags)
    item = globals()[flags.peer + "_item"](flags)

    class Items(Dataset):
        def __len__(self):
            return len(sources)

        def __getitem__(self, index):
            return item(sources[index])

    def make():
        return DataLoader(
            Items(),
            batch_size=flags.batch_size,
            num_workers=flags.workers,
            persistent_workers=flags.persistent,
        )

    made = make() if flags.persistent else None
    return lambda: sum(len(batch) for batch in made or make())


def feedrate_module(flags):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
    import feedrate

    loader = feedrate.Loader(
        flags.folder,
        batch_size=flags.batch_size,
        crop=CROP,
        flip=True,
        workers=flags.workers,
        output="numpy",
    )
    return lambda: sum(len(images) for images, _ in loader)


# DALI on the CPU. As many batches are asked for as an epoch has and no more, so
# that nothing is prepared while the others are measured.


def dali(flags, graph):
    import numpy
    from nvidia.dali import pipeline_def

    @pipeline_def(
        batch_size=flags.batch_size,
        num_threads=flags.workers,
        device_id=None,
        prefetch_queue_depth=2,
    )
    def pipeline():
        return graph()

    pipe = pipeline()
    pipe.build()
    batches = -(-flags.items // flags.batch_size)

    def epoch():
        ahead = min(2, batches)
        for _ in range(ahead):
            pipe.schedule_run()
        for number in range(batches):
            (output,) = pipe.share_outputs()
            tensor = output.as_tensor()
            shape = numpy.asarray(tensor).shape
            assert shape[1:] == (flags.channels, CROP, CROP), shape
            pipe.release_outputs()
            if number + ahead < batches:
                pipe.schedule_run()
        return batches * flags.batch_size

    return epoch


def dali_normalised(images, flags, **crop):
    from nvidia.dali import fn, types

    return fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[255 * value for value in repeated(MEAN, flags)],
        std=[255 * value for value in repeated(STD, flags)],
        mirror=fn.random.coin_flip(),
        **crop,
    )


def dali_place():
    from nvidia.dali import fn

    return {
        "crop_pos_x": fn.random.uniform(range=(0.0, 1.0)),
        "crop_pos_y": fn.random.uniform(range=(0.0, 1.0)),
    }


def dali_fused(flags):
    from nvidia.dali import fn

    def graph():
        encoded, _ = fn.readers.file(files=files(flags), name="files")
        images = fn.decoders.image_crop(
            encoded, device="cpu", crop=(CROP, CROP), **dali_place()
        )
        return dali_normalised(images, flags)

    return dali(flags, graph)


def dali_decode(flags):
    from nvidia.dali import fn

    def graph():
        encoded, _ = fn.readers.file(files=files(flags), name="files")
        images = fn.decoders.image(encoded, device="cpu")
        return dali_normalised(images, flags, crop=(CROP, CROP), **dali_place())

    return dali(flags, graph)


def dali_external(flags):
    from nvidia.dali import fn

    arrays = [padded(image) for image in decoded(flags)]
    size = flags.batch_size

    def batch(number):
        first = number * size
        return [arrays[i % len(arrays)] for i in range(first, first + size)]

    numbers = iter(range(1 << 40))

    def graph():
        images = fn.external_source(
            source=lambda: batch(next(numbers)), layout="HWC", no_copy=True
        )
        return dali_normalised(images, flags, crop=(CROP, CROP), **dali_place())

    return dali(flags, graph)


# SPDL: threads, FFmpeg's decoder.


def spdl(flags):
    import numpy
    import spdl.io
    from spdl.pipeline import PipelineBuilder

    mean = numpy.array(MEAN, numpy.float32).reshape(3, 1, 1) * 255
    scale = 1 / (numpy.array(STD, numpy.float32).reshape(3, 1, 1) * 255)
    paths = files(flags)

    def decode(path):
        packets = spdl.io.demux_image(path)
        frames = spdl.io.decode_packets(
            packets,
            filter_desc=spdl.io.get_video_filter_desc(pix_fmt="rgb24"),
        )
        return spdl.io.to_numpy(spdl.io.convert_frames(frames))

    def item(path):
        image = padded(decode(path))
        y, x = corner(*image.shape[:2])
        image = image[y : y + CROP, x : x + CROP]
        if random.random() < 0.5:
            image = image[:, ::-1]
        return (image.transpose(2, 0, 1) - mean) * scale

    def epoch():
        pipeline = (
            PipelineBuilder()
            .add_source(iter(paths))
            .pipe(item, concurrency=flags.workers)
            .aggregate(flags.batch_size)
            .pipe(numpy.stack)
            .add_sink(2)
            .build(num_threads=flags.workers)
        )
        with pipeline.auto_stop():
            return sum(len(batch) for batch in pipeline.get_iterator())

    return epoch


# FFCV: threads, compiled by numba, over a file of its own format. It holds the
# same JPEG bytes (`ffcv`), as re-encoding would change the work, or the pixels
# (`ffcv_raw`).


def ffcv_file(flags, path):
    import cv2
    import numpy
    from ffcv.fields import RGBImageField
    from ffcv.writer import DatasetWriter

    class Jpeg(RGBImageField):
        """Keeps the bytes of a file."""

        def encode(self, destination, name, malloc):
            data = numpy.fromfile(name, numpy.uint8)
            destination["mode"] = 0
            height, width = cv2.imread(name).shape[:2]
            destination["height"], destination["width"] = height, width
            destination["data_ptr"], storage = malloc(data.nbytes)
            storage[:] = data

    class Items:
        def __init__(self):
            raw = flags.scope == "memory"
            self.sources = decoded(flags) if raw else files(flags)

        def __len__(self):
            return len(self.sources)

        def __getitem__(self, index):
            return (self.sources[index],)

    field = RGBImageField("raw") if flags.scope == "memory" else Jpeg()
    writer = DatasetWriter(path, {"image": field}, num_workers=1)
    writer.from_indexed_dataset(Items())


def ffcv(flags):
    import tempfile

    import numpy
    import torch
    from ffcv.fields import RGBImageField
    from ffcv.fields.rgb_image import ResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import (
        NormalizeImage,
        RandomHorizontalFlip,
        ToTensor,
        ToTorchImage,
    )

    def place(height, width, scale, ratio):
        y = int(numpy.random.uniform(0, height - CROP + 1))
        x = int(numpy.random.uniform(0, width - CROP + 1))
        return y, x, CROP, CROP

    class RandomCrop(ResizedCropRGBImageDecoder):
        """Resizes by nothing, as the crop has the size of the output."""

        scale = ratio = (1.0, 1.0)
        get_crop_generator = property(lambda self: place)

    torch.set_num_threads(1)
    with tempfile.NamedTemporaryFile(suffix=".beton") as file:
        ffcv_file(flags, file.name)
        loader = Loader(
            file.name,
            batch_size=flags.batch_size,
            num_workers=flags.workers,
            os_cache=True,
            drop_last=False,
            order=OrderOption.SEQUENTIAL,
            custom_fields={"image": RGBImageField},
            pipelines={
                "image": [
                    RandomCrop((CROP, CROP)),
                    RandomHorizontalFlip(),
                    NormalizeImage(
                        numpy.array(MEAN) * 255,
                        numpy.array(STD) * 255,
                        numpy.float32,
                    ),
                    ToTensor(),
                    ToTorchImage(channels_last=False),
                ]
            },
        )
        # It compiles in its first epoch, and maps the file while it lives.
        sum(len(batch) for (batch,) in loader)

    def epoch():
        items = 0
        for (batch,) in loader:
            assert batch.shape[1:] == (3, CROP, CROP), batch.shape
            assert batch.is_contiguous() and batch.dtype == torch.float32
            items += len(batch)
        return items

    return epoch


PEERS = {
    "module": feedrate_module,
    "torchvision": dataloader,
    "albumentationsx": dataloader,
    "pillow": dataloader,
    "nothing": dataloader,
    "dali_fused": dali_fused,
    "dali_decode": dali_decode,
    "dali_external": dali_external,
    "ffcv": ffcv,
    "spdl": spdl,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", choices=PEERS, required=True)
    parser.add_argument("--scope", choices=["decode", "memory"], required=True)
    parser.add_argument("--folder", help="of JPEG files")
    parser.add_argument("--decoded", help="of files NUMBER_HEIGHT_WIDTH.rgb")
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=256)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--packages", help="an environment to import from too")
    flags = parser.parse_args()
    if flags.packages:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        site.addsitedir(f"{flags.packages}/lib/{version}/site-packages")
    # What libraries print must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    epoch = PEERS[flags.peer](flags)
    for _ in sys.stdin:
        begin = time.perf_counter()
        items = epoch()
        elapsed = time.perf_counter() - begin
        print(
            json.dumps({"items": items, "elapsed_s": elapsed}),
            file=answers,
            flush=True,
        )


if __name__ == "__main__":
    main()
