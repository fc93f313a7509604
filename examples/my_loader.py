"""Your own loader: a function that makes any iterable of batches.

    pipeline --subject=my_loader:make_loader

It takes those arguments that it names: dataset (the folder), files, workers,
batch_size, seed, transform, crop, shuffle, drop_last, prefetch, rank,
world_size, epoch.
"""

import torch
from torchvision.datasets.folder import default_loader
from torchvision.transforms import v2


class Photos(torch.utils.data.Dataset):
    def __init__(self, files, crop):
        self.files, self.loader = files, default_loader
        self.transform = v2.Compose(
            [
                v2.RandomCrop(crop, pad_if_needed=True),
                v2.RandomHorizontalFlip(),
                v2.PILToTensor(),
                v2.ToDtype(torch.float32, scale=True),
            ]
        )

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.transform(self.loader(self.files[index])), 0


def make_loader(files, workers, batch_size, crop, shuffle):
    return torch.utils.data.DataLoader(
        Photos(files, crop), batch_size, shuffle, num_workers=workers
    )
