"""A loader's items: read, decode, augment, and what happens to an item that
fails.

Has the methods of torch's map-style datasets, so that it can be tested, and
used by other loaders, without torch.
"""

import dataclasses

from loaders.source import ItemError


@dataclasses.dataclass
class Failed:
    """Replaces an item that cannot be read."""

    index: int
    path: str
    reason: str

    def named(self):
        return {"item": self.index, "path": self.path, "reason": self.reason}


class Items:
    """items[i] is the tensor of item i, modulo their number, or a Failed."""

    def __init__(self, source, recipe, spec, stages):
        self._source = source
        self._recipe = recipe
        self._stages = stages
        self._ablation = spec.ablation
        self._fail = spec.on_error == "fail"
        self._kept = None

    def __len__(self):
        return len(self._source)

    def __getitem__(self, index):
        self._stages.resume()
        index %= len(self._source)
        if self._ablation == "cached_batch":
            return index
        try:
            image = self._load(index)
        except Exception as error:
            return self._failed(index, error)
        try:
            with self._stages.busy("augment"):
                return self._augment(image)
        except Exception as error:
            raise self._error(index, error) from error

    def _load(self, index):
        if self._ablation != "no_decode":
            return self._source.load(index, self._stages)
        if self._kept is None:
            self._kept = self._source.load(index, self._stages)
        return self._kept

    def _augment(self, image):
        if self._ablation != "no_augment":
            return self._recipe.call(image)
        if self._kept is None:
            self._kept = self._recipe.call(image)
        return self._kept

    def _failed(self, index, error):
        if self._fail:
            raise self._error(index, error) from error
        return Failed(index, self._source.path(index), _text(error))

    def _error(self, index, error):
        return ItemError(
            f"item {index}, {self._source.path(index)}: {_text(error)}"
        )


def _text(error):
    return f"{type(error).__name__}: {error}"
