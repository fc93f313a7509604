"""Tar files of images, as WebDataset has them: what is in them, and where."""

import pathlib
import tarfile

EXTENSIONS = ("jpg", "jpeg", "png", "webp", "bmp", "npy")


class ShardSource:
    """Items are numbered in the order of the shards and of their members."""

    decodes = True

    def __init__(self, paths):
        self.shards = paths
        self._members = []
        for path in paths:
            # The headers alone: a shard's data is skipped.
            with tarfile.open(path, "r:") as tar:
                names = [member.name for member in tar if member.isfile()]
            self._members += [
                (path, name) for name in names if extension(name) in EXTENSIONS
            ]
        if not self._members:
            raise ValueError(f"no image is in {', '.join(paths)}")
        self._indexes = {
            (path, name.lower()): i
            for i, (path, name) in enumerate(self._members)
        }

    def __len__(self):
        return len(self._members)

    def path(self, index):
        shard, name = self._members[index]
        return f"{shard}: {name}"

    def index(self, shard, name):
        return self._indexes[shard, name.lower()]

    def preload(self, indexes):
        """Nothing: reading is what is measured."""


def extension(name):
    return pathlib.PurePath(name).suffix[1:].lower()
