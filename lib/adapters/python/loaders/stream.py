"""What loaders of streams share: they begin at the start, know no numbered
items, and hand out what they read to worker processes of torch's DataLoader."""

import torch.distributed
from loaders import torch_dataloader
from loaders.dataset import Failed
from loaders.source import ItemError, decoded
from torch.testing._internal.distributed.fake_pg import FakeStore


class StreamLoader(torch_dataloader.Loader):
    """Like torch's DataLoader, with a stream instead of numbered items: a
    subclass has _stream()."""

    name = "a stream"

    def __init__(self, source, recipe, spec, command):
        if spec.ablation:
            raise ValueError(f"{self.name} is measured whole")
        super().__init__(source, recipe, spec, command)
        self._left = self._seed = 0

    def set_epoch(self, seed, first, count, epoch=0):
        if first % len(self._source):
            raise ValueError(
                f"{self.name} is read from its start; first is not 0"
            )
        self._left = count
        self._seed = seed % 2**31
        super().set_epoch(seed, first, count)

    def _make(self, seed):
        return self.DataLoader(self._stream(), **self._arguments(seed))

    def _arguments(self, seed):
        spec = self._spec
        forked = spec.workers > 0
        return {
            "num_workers": spec.workers,
            "pin_memory": spec.pin_memory,
            "worker_init_fn": self._worker_start if forked else None,
            "multiprocessing_context": "fork" if forked else None,
            "generator": torch.Generator().manual_seed(seed),
            "prefetch_factor": spec.prefetch if forked else None,
            "persistent_workers": spec.persistent,
        }

    def _batches(self):
        if self._spec.shuffle:
            # An audit wants to see how an epoch ends.
            yield from super()._batches()
            return
        # More items than there are: again from the start, as a loop over
        # epochs would.
        while self._left > 0:
            for batch in super()._batches():
                # A stream knows no end of an epoch but its own: what is more
                # than was asked for is not counted.
                if batch.items > self._left:
                    batch.nbytes = batch.nbytes // batch.items * self._left
                    batch.items = self._left
                self._left -= batch.items + len(batch.errors)
                yield batch
                if self._left <= 0:
                    return
            self._iterator = iter(self._loader)

    def _item(self, index, data, name):
        """The tensor of an item's bytes, or a Failed."""
        self._stages.resume()
        path = self._source.path(index)
        try:
            with self._stages.busy("decode"):
                image = decoded(self._recipe, data, name)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            if self._spec.on_error == "fail":
                raise ItemError(f"item {index}, {path}: {reason}") from error
            return Failed(index, path, reason)
        try:
            with self._stages.busy("augment"):
                return self._recipe.call(image)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ItemError(f"item {index}, {path}: {reason}") from error


def join_ranks(spec):
    """Tells torch which rank this process is; ranks exchange nothing."""
    if spec.ranks > 1 and not torch.distributed.is_initialized():
        torch.distributed.init_process_group(
            "fake",
            store=FakeStore(),
            rank=spec.rank,
            world_size=spec.ranks,
        )
