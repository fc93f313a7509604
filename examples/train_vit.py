"""Trains a small ViT on a folder per class, and prints the share of each step
that it waited for data.

    python examples/train_vit.py FOLDER --loader=feedrate|dataloader|dali
"""

import argparse
import pathlib
import time

import torch
from torchvision.models import VisionTransformer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--loader", default="feedrate")
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--crop", type=int, default=224)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--workers", type=int, default=2)
flags = parser.parse_args()
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def feedrate_loader():
    import feedrate

    return feedrate.Loader(
        flags.folder,
        batch_size=flags.batch_size,
        crop=flags.crop,
        flip=True,
        workers=flags.workers,
        shuffle=True,
        drop_last=True,
        pin_memory=True,
    )


def dataloader_loader():
    from torchvision import datasets
    from torchvision.transforms import v2

    steps = [v2.RandomCrop(flags.crop, pad_if_needed=True)]
    steps += [v2.RandomHorizontalFlip(), v2.PILToTensor()]
    steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return torch.utils.data.DataLoader(
        datasets.ImageFolder(flags.folder, v2.Compose(steps)),
        batch_size=flags.batch_size,
        shuffle=True,
        num_workers=flags.workers,
        persistent_workers=flags.workers > 0,
        drop_last=True,
        pin_memory=torch.cuda.is_available(),
    )


def dali_loader():
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    @pipeline_def(
        batch_size=flags.batch_size, num_threads=flags.workers, device_id=None
    )
    def graph():
        place = {f"crop_pos_{a}": fn.random.uniform(range=(0, 1)) for a in "xy"}
        files, labels = fn.readers.file(
            file_root=flags.folder, random_shuffle=True, name="files"
        )
        images = fn.decoders.image_crop(files, crop=(flags.crop,) * 2, **place)
        images = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in STD],
            mirror=fn.random.coin_flip(),
        )
        return images, labels.gpu() if torch.cuda.is_available() else labels

    class Pairs(DALIGenericIterator):
        def __next__(self):
            (batch,) = super().__next__()
            return batch["images"], batch["labels"].squeeze(1).long()

    return Pairs(
        graph(),
        ["images", "labels"],
        reader_name="files",
        last_batch_policy=LastBatchPolicy.DROP,
        auto_reset=True,
    )


loaders = {
    "feedrate": feedrate_loader,
    "dataloader": dataloader_loader,
    "dali": dali_loader,
}
loader = loaders[flags.loader]()
device = "cuda" if torch.cuda.is_available() else "cpu"
classes = sum(path.is_dir() for path in flags.folder.iterdir())
model = VisionTransformer(flags.crop, 16, 2, 3, 192, 768, num_classes=classes)
model = model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(flags.epochs):
    start = time.perf_counter()
    for step, (images, labels) in enumerate(loader):
        ready = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(
            model(images.to(device, non_blocking=True)), labels.to(device)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()  # Waits for the device.
        end = time.perf_counter()
        print(
            f"epoch {epoch} step {step}: loss {value:.3f},"
            f" waiting {(ready - start) / (end - start):.1%}"
        )
        start = end
