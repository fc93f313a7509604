"""torch's DataLoader with torchvision's transforms, as used in PyTorch
training."""

import itertools
import os

import feed
import torch
import torch.utils.data
from libraries import torchvision as torchvision_library
from library_support import steps
from loaders import processes
from loaders.recipes import torch_images
from torchvision.transforms import v2


class Images(torch.utils.data.Dataset):
    """images[i] is a float32 CHW tensor and i."""

    def __init__(self, paths, options):
        self._paths = paths
        augment = v2.RandomHorizontalFlip()
        if options.recipe:
            command = {"native_op": steps.NATIVE_OP, "params": options.recipe}
            augment = torchvision_library.make(command).call
        self._transform = v2.Compose(
            [
                v2.RandomCrop(options.image_size, pad_if_needed=True),
                augment,
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(feed.MEAN, feed.STD),
            ]
        )

    def __len__(self):
        return len(self._paths)

    def __getitem__(self, index):
        path = self._paths[index]
        try:
            with open(path, "rb") as file:
                image = torch_images.decode(file.read(), path)
        except Exception as error:
            raise RuntimeError(f"{path}: {error}") from error
        return self._transform(image), index


class WorkerStart:
    """What a worker does first. Its parent is the process that made this."""

    def __init__(self):
        self._parent = os.getpid()

    def __call__(self, _):
        processes.die_with(self._parent)
        torch.set_num_threads(1)


def batches(paths, options):
    torch.manual_seed(options.seed)
    processes.leave_no_files()
    forked = options.workers > 0
    loader = torch.utils.data.DataLoader(
        Images(paths, options),
        batch_size=options.batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=options.workers,
        worker_init_fn=WorkerStart() if forked else None,
        multiprocessing_context="fork" if forked else None,
        persistent_workers=forked,
    )
    for _ in itertools.count():
        for images, numbers in loader:
            yield images.numpy(), numbers.numpy()
