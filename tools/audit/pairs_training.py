"""Trainings with the loaders of others, for pairs.py.

    pairs_training.py NAME FOLDER [mended]

Each notes its items by numbers and continues from FOLDER. `mended` takes
another loop, where no release has mended the fault.
"""

import os
import pathlib
import random
import sys

import feedrate.audit
import torch

ITEMS = 96
BATCH = 8
EPOCHS = 3


class Run:
    """A training with nothing but data: steps, and a checkpoint after some."""

    def __init__(self, folder, every=3):
        self.path = pathlib.Path(folder, "checkpoint")
        self.every = every
        self.step = self.epoch = self.position = 0
        self.state = None
        self.resumed = self.path.exists()
        if self.resumed:
            saved = torch.load(self.path, weights_only=True)
            self.step, self.epoch, self.position, self.state = saved

    def train(self, ids, state=None, shuffles=False):
        """A step. `state` returns what the loader wants back. `shuffles`: the
        loader delivers places in an order of the epoch, as its own shuffling
        has faults that are not meant."""
        ids = [int(i) for i in ids]
        if shuffles:
            order = list(range(ITEMS))
            random.Random(self.epoch).shuffle(order)
            ids = [order[i] for i in ids]
        feedrate.audit.saw_ids(ids, step=self.step)
        self.step += 1
        self.position += 1
        if self.step % self.every == 0:
            self.save(state)

    def save(self, state=None):
        if os.environ.get("RANK", "0") != "0":
            return
        state = state() if state else None
        new = self.path.with_suffix(".new")
        torch.save((self.step, self.epoch, self.position, state), new)
        new.rename(self.path)

    def epochs(self, state=None, save=True):
        while self.epoch < EPOCHS:
            yield self.epoch
            self.epoch += 1
            self.position = 0
            if save:
                self.save(state)


def accelerate_skips(folder, mended):
    """The loop of accelerate's documentation."""
    from accelerate import Accelerator, skip_first_batches
    from accelerate.utils import DataLoaderConfiguration, set_seed
    from torch.utils.data import DataLoader

    set_seed(1)
    run = Run(folder)
    accelerator = Accelerator(
        cpu=True,
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True),
    )
    loader = accelerator.prepare(
        DataLoader(range(ITEMS), batch_size=BATCH, shuffle=True)
    )
    for epoch in run.epochs():
        loader.set_epoch(epoch)
        active = loader
        if run.resumed and run.position:
            active = skip_first_batches(loader, run.position)
            if mended:
                active.set_epoch(epoch)
        run.resumed = False
        for batch in active:
            run.train(batch)


def accelerate_next_epoch(folder, mended):
    """The same without set_epoch, as examples/by_feature/checkpointing.py."""
    from accelerate import Accelerator, skip_first_batches
    from accelerate.utils import DataLoaderConfiguration, set_seed
    from torch.utils.data import DataLoader

    set_seed(1)
    run = Run(folder)
    accelerator = Accelerator(
        cpu=True,
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True),
    )
    loader = accelerator.prepare(
        DataLoader(range(ITEMS), batch_size=BATCH, shuffle=True)
    )
    loader.set_epoch(run.epoch)
    for epoch in run.epochs():
        if mended:
            loader.set_epoch(epoch)
        active = loader
        if run.resumed and run.position:
            active = skip_first_batches(loader, run.position)
        run.resumed = False
        for batch in active:
            run.train(batch)


def accelerate_default(folder, mended):
    """skip_first_batches with the default sampler, and with a seedable one."""
    from accelerate import Accelerator, skip_first_batches
    from accelerate.utils import DataLoaderConfiguration, set_seed
    from torch.utils.data import DataLoader

    set_seed(1)
    run = Run(folder)
    accelerator = Accelerator(
        cpu=True,
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=mended),
    )
    loader = accelerator.prepare(
        DataLoader(range(ITEMS), batch_size=BATCH, shuffle=True)
    )
    states = pathlib.Path(folder, "state")
    if run.resumed:
        accelerator.load_state(str(states))
    for epoch in run.epochs(lambda: accelerator.save_state(str(states))):
        loader.set_epoch(epoch)
        active = loader
        if run.resumed and run.position:
            active = skip_first_batches(loader, run.position)
        run.resumed = False
        for batch in active:
            run.train(batch, lambda: accelerator.save_state(str(states)))


def hf_dataset():
    from datasets import Dataset

    return Dataset.from_dict({"i": list(range(ITEMS))})


def batches_of(dataset):
    batch = []
    for row in dataset:
        batch.append(int(row["i"]))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def datasets_training(folder, dataset, shuffles=False):
    run = Run(folder)
    if run.resumed and run.position:
        dataset.set_epoch(run.epoch)
        dataset.load_state_dict(run.state)
    for epoch in run.epochs():
        feedrate.audit.begin_epoch()
        dataset.set_epoch(epoch)
        for batch in batches_of(dataset):
            run.train(batch, dataset.state_dict, shuffles)


def datasets_twice(folder, mended):
    """Shards in a new order each epoch, without a buffer."""
    shards = hf_dataset().to_iterable_dataset(num_shards=12)
    datasets_training(folder, shards.shuffle(seed=3, buffer_size=1))


def datasets_filter(folder, mended):
    """Rows of whole tables through filter()."""
    shards = hf_dataset().to_iterable_dataset(num_shards=2)
    datasets_training(folder, shards.filter(lambda row: True), shuffles=True)


def datasets_buffer(folder, mended):
    """A shuffle buffer, and shards in a new order without one."""
    shards = hf_dataset().to_iterable_dataset(num_shards=12)
    size = 1 if mended else 24
    datasets_training(folder, shards.shuffle(seed=3, buffer_size=size))


def stateful_training(folder, dataset, every, shuffles=False, **settings):
    from torchdata.stateful_dataloader import StatefulDataLoader

    run = Run(folder, every)
    loader = StatefulDataLoader(dataset, batch_size=BATCH, **settings)
    set_epoch = getattr(dataset, "set_epoch", lambda epoch: None)
    if run.resumed:
        set_epoch(run.epoch)
        loader.load_state_dict(run.state)
    for epoch in run.epochs(loader.state_dict):
        set_epoch(epoch)
        for batch in loader:
            run.train(batch, loader.state_dict, shuffles)


def datasets_workers(folder, mended):
    """An IterableDataset in loader workers that live on."""
    stateful_training(
        folder,
        hf_dataset().to_iterable_dataset(num_shards=12),
        every=3,
        shuffles=True,
        num_workers=1,
        persistent_workers=True,
        collate_fn=lambda rows: [row["i"] for row in rows],
    )


def torchdata_epoch_end(folder, mended):
    """StatefulDataLoader with states of epochs' ends."""
    stateful_training(folder, list(range(ITEMS)), every=1000, shuffle=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], "mended" in sys.argv[3:])
