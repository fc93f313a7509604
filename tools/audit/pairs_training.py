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
        self.end_step(state)

    def end_step(self, state=None):
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


def lightning_first_epoch(folder, mended):
    """A checkpoint per epoch, loader workers, and a sampler with epochs."""
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, index):
            feedrate.audit.saw_ids(batch.tolist(), step=self.global_step)
            return self.layer(batch[:, None].float()).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    sampler = DistributedSampler(range(ITEMS), num_replicas=1, rank=0)
    last = pathlib.Path(folder, "last.ckpt")
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=EPOCHS,
        logger=False,
        enable_progress_bar=False,
        default_root_dir=folder,
        callbacks=ModelCheckpoint(folder, save_last=True),
    )
    loader = DataLoader(
        range(ITEMS), batch_size=BATCH, sampler=sampler, num_workers=1
    )
    trainer.fit(Model(), loader, ckpt_path=str(last) if last.exists() else None)


def shards(folder):
    """The addresses of archives with eight items each."""
    import webdataset

    pattern = str(pathlib.Path(folder, "items-%06d.tar"))
    if not os.path.exists(pattern % 0):
        with webdataset.ShardWriter(pattern, maxcount=8, verbose=0) as writer:
            for item in range(ITEMS):
                writer.write({"__key__": f"{item:06d}", "txt": str(item)})
    return [pattern % i for i in range(ITEMS // 8)]


def item_of(sample):
    return int(sample["__key__"])


def webdataset_training(folder, loader):
    run = Run(folder)
    for _ in run.epochs():
        feedrate.audit.begin_epoch()
        for batch in loader:
            run.train(batch)


def webdataset_shards(folder, mended):
    """shardshuffle without a seed."""
    import webdataset

    dataset = webdataset.WebDataset(shards(folder), shardshuffle=12)
    dataset = dataset.map(item_of).batched(BATCH, collation_fn=list)
    webdataset_training(folder, dataset)


def webdataset_detshuffle(folder, mended):
    """detshuffle in loader workers that end with an epoch, or live on."""
    import webdataset
    from torch.utils.data import DataLoader

    dataset = webdataset.DataPipeline(
        webdataset.SimpleShardList(shards(folder)),
        webdataset.detshuffle(12),
        webdataset.split_by_worker,
        webdataset.tarfile_to_samples(),
        webdataset.map(item_of),
        webdataset.batched(BATCH, collation_fn=list),
    )
    webdataset_training(
        folder,
        DataLoader(
            dataset, batch_size=None, num_workers=1, persistent_workers=mended
        ),
    )


def litdata_parallel(folder, mended):
    """Epochs of half the items, each of which goes on where the last ended."""
    import litdata
    from litdata.streaming import Cache

    place = pathlib.Path(folder, "items")
    cache = Cache(str(place), chunk_size=8)
    for item in range(ITEMS):
        cache[item] = item
    cache.done()
    cache.merge()
    dataset = litdata.ParallelStreamingDataset(
        [litdata.StreamingDataset(str(place), shuffle=True, seed=3)],
        length=float("inf"),
        resume=True,
    )
    loader = litdata.StreamingDataLoader(dataset, batch_size=BATCH)
    run = Run(folder)
    for _ in run.epochs():
        for batch in loader:
            run.train(batch[0])
            if run.position == ITEMS // BATCH // 2:
                break


def mosaicml_epoch_end(folder, mended):
    """States of epochs' ends, of which a release before 0.8 makes an error and
    later ones an epoch of nothing. Mended, they are those of the next epoch."""
    import streaming

    place = pathlib.Path(folder, "items")
    if not place.exists():
        with streaming.MDSWriter(
            out=str(place), columns={"i": "int"}
        ) as writer:
            for item in range(ITEMS):
                writer.write({"i": item})
    streaming.base.util.clean_stale_shared_memory()
    dataset = streaming.StreamingDataset(
        local=str(place), shuffle=True, batch_size=BATCH
    )
    loader = streaming.StreamingDataLoader(dataset, batch_size=BATCH)
    run = Run(folder, every=1000)
    if run.resumed:
        if mended and run.state["sample_in_epoch"] == ITEMS:
            run.state |= {"epoch": run.epoch, "sample_in_epoch": 0}
        loader.load_state_dict(run.state)
    for _ in run.epochs(loader.state_dict):
        for batch in loader:
            run.train(batch["i"], loader.state_dict)


def jax_key(folder, mended):
    """Images through JAX. The order comes from a key that is split in each
    epoch; mended, from the number of the epoch."""
    import _feedrate_codes
    import jax
    import numpy as np

    pixels = b"".join(
        b"".join(_feedrate_codes.rows_of(item, 64)) for item in range(ITEMS)
    )
    images = np.frombuffer(pixels, np.uint8).reshape(ITEMS, 64, 64, 3)
    images = jax.numpy.asarray(images) / 255.0 - 0.5

    @jax.jit
    def update(weights, batch):
        def loss(weights):
            return ((batch.mean((1, 2)) @ weights - 1) ** 2).mean()

        return weights - 0.1 * jax.grad(loss)(weights)

    weights = jax.numpy.zeros(3)
    run = Run(folder)
    key = jax.random.key(1)
    for epoch in run.epochs():
        feedrate.audit.begin_epoch()
        key, own = jax.random.split(key)
        if mended:
            own = jax.random.fold_in(jax.random.key(1), epoch)
        order = jax.random.permutation(own, ITEMS)
        for at in range(run.position * BATCH, ITEMS, BATCH):
            batch = images[order[at : at + BATCH]]
            feedrate.audit.saw(batch, step=run.step)
            weights = update(weights, batch)
            run.end_step()


def lerobot_resume(folder, mended):
    """The loop of lerobot's training: steps through epochs, of which a restart
    gets the number and the random state."""
    import sampler as module
    from torch.utils.data import DataLoader

    starts = list(range(0, ITEMS, 12))
    sampler = module.EpisodeAwareSampler(
        starts, [start + 12 for start in starts], shuffle=True
    )
    run = Run(folder)
    torch.manual_seed(1)
    if run.resumed:
        torch.set_rng_state(run.state)
        if hasattr(module, "compute_sampler_state"):
            sampler.load_state_dict(
                module.compute_sampler_state(run.step, ITEMS, BATCH, 1)
            )
    loader = DataLoader(range(ITEMS), batch_size=BATCH, sampler=sampler)
    while run.step < EPOCHS * ITEMS // BATCH:
        for batch in loader:
            run.train(batch, torch.get_rng_state)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], "mended" in sys.argv[3:])
