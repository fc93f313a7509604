"""feedrate.Loader in training loops: of Lightning, accelerate and torchrun."""

import contextlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import accelerate
import cases  # Puts feedrate on the path.
import numpy as np
import pytorch_lightning as lightning
import torch

THIS = pathlib.Path(__file__).resolve()
SIZE, BATCH = 100, 8
STEPS = 13  # Per epoch.


class LoopsCase(cases.Case):
    def training_loader(self, **arguments):
        return self.loader(
            self.array(SIZE),
            labels=[number % 2 for number in range(SIZE)],
            output="torch",
            shuffle=True,
            batch_size=BATCH,
            **arguments,
        )

    def expected(self, epochs):
        """The numbers of each epoch, as a plain loop gets them."""
        loader = self.training_loader(workers=1)
        return [self.numbers(loader) for _ in range(epochs)]


class Classifier(lightning.LightningModule):
    """Keeps the numbers of the images that it was trained on, per epoch."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3 * 16 * 16, 2)
        self.seen = {}

    def training_step(self, batch, index):
        images, labels = batch
        self.seen.setdefault(self.current_epoch, []).extend(cases.ids(images))
        logits = self.linear(images.flatten(1) / 255)
        return torch.nn.functional.cross_entropy(logits, labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Kill(lightning.Callback):
    """Ends a training before step `step`, as a machine that goes away."""

    def __init__(self, step):
        self.step = step

    def on_train_batch_start(self, trainer, *_):
        if trainer.global_step == self.step:
            raise InterruptedError


class LightningTest(LoopsCase):
    def trainer(self, **arguments):
        return lightning.Trainer(
            accelerator="cpu",
            default_root_dir=self.folder,
            enable_model_summary=False,
            enable_progress_bar=False,
            logger=False,
            **arguments,
        )

    def setUp(self):
        super().setUp()
        logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
        # It recommends workers of a DataLoader.
        warnings.filterwarnings("ignore", module="pytorch_lightning")

    def test_each_epoch_has_every_item_once(self):
        model = Classifier()
        trainer = self.trainer(max_epochs=2, enable_checkpointing=False)
        trainer.fit(model, self.training_loader())
        self.assertEqual(trainer.global_step, 2 * STEPS)
        self.assertEqual(list(model.seen.values()), self.expected(2))
        self.assertEqual(sorted(model.seen[1]), list(range(SIZE)))

    def seen(self, ends, validates=False):
        """What was trained on in each epoch by trainings that each continue
        the one before, with other workers: to the end of so many epochs, or
        until they are killed after (epochs, steps)."""
        seen, checkpoint = {}, None
        for number, end in enumerate(ends):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            killed = isinstance(end, tuple)
            step = end[0] * STEPS + end[1] if killed else None
            saving = lightning.callbacks.ModelCheckpoint(
                folder, "last", every_n_train_steps=step
            )
            trainer = self.trainer(
                callbacks=[saving, Kill(step)],
                max_epochs=100 if killed else end,
            )
            model = Classifier()
            loaders = [self.training_loader(workers=number)]
            if validates:
                loaders.append(self.training_loader(workers=1))
            with (
                self.assertRaises(InterruptedError)
                if killed
                else contextlib.nullcontext()
            ):
                trainer.fit(model, *loaders, ckpt_path=checkpoint)
            checkpoint = folder / "last.ckpt"
            for epoch, ids in model.seen.items():
                seen.setdefault(epoch, []).extend(ids)
        return seen

    def test_its_checkpoints_resume(self):
        """At the end of an epoch and in its middle, once, twice and three
        times; after its last step once. (After that, Lightning 2.6 counts
        epochs wrongly, with any loader.)"""
        expected = self.expected(8)
        middle = [(1, 5), (1, 9), (3, 2)]
        ends = [2, 3, 5, 7]
        both = [[(1, 0)], [3, (3, 4)], [(1, 5), 3, (3, 4)]]
        for count in (1, 2, 3):
            for plan in (
                ends[: count + 1],
                [*middle[:count], 5],
                [*both[count - 1], 6],
            ):
                for validates in (False, True):
                    with self.subTest(plan=plan, validates=validates):
                        found = self.seen(plan, validates)
                        wanted = dict(enumerate(expected[: plan[-1]]))
                        self.assertEqual(found, wanted)


class AccelerateTest(LoopsCase):
    def prepared(self, loader):
        """Leaves the loader as it is, and saves its state with the model's."""
        accelerator = accelerate.Accelerator(cpu=True)
        model = torch.nn.Linear(3 * 16 * 16, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model, optimizer, same = accelerator.prepare(model, optimizer, loader)
        self.assertIs(same, loader)
        accelerator.register_for_checkpointing(loader)
        return accelerator, model, optimizer

    def train(self, loader, prepared, steps=None):
        accelerator, model, optimizer = prepared
        seen = []
        for step, (images, labels) in enumerate(loader):
            logits = model(images.flatten(1) / 255)
            accelerator.backward(
                torch.nn.functional.cross_entropy(logits, labels)
            )
            optimizer.step()
            optimizer.zero_grad()
            seen += cases.ids(images)
            if step + 1 == steps:
                break
        return seen

    def test_its_checkpoints_resume(self):
        """In the middle of an epoch and at its end; once, twice and three
        times."""
        expected = self.expected(3)
        seen = []
        for number, steps in enumerate((5, None, 4, 20)):
            loader = self.training_loader(workers=number)
            prepared = self.prepared(loader)
            if number > 0:
                prepared[0].load_state(str(self.folder / str(number - 1)))
            seen += self.train(loader, prepared, steps)
            prepared[0].save_state(str(self.folder / str(number)))
        self.assertEqual(seen, sum(expected[:2], []))


class TorchrunTest(LoopsCase):
    def test_checkpoints_resume_with_other_ranks(self):
        """Two ranks, then one, then three; a state in the middle of an epoch,
        at its end, and in the middle again."""
        np.save(self.folder / "source.npy", self.array(SIZE))
        seen = {}
        for ranks, steps in ((2, 9), (1, 11), (3, 30)):
            done = subprocess.run(
                [
                    *(sys.executable, "-B", "-m", "torch.distributed.run"),
                    *("--standalone", f"--nproc-per-node={ranks}"),
                    *(THIS, "rank", self.folder, str(steps)),
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual(len(lines), ranks, done.stdout)
            for line in lines:
                for epoch, ids in json.loads(line).items():
                    seen.setdefault(int(epoch), []).extend(ids)
        self.assertEqual(sorted(seen), [0, 1, 2, 3])
        for ids in seen.values():
            self.assertEqual(sorted(ids), list(range(SIZE)))


def run_rank(folder, steps):
    """Trains so many steps, at most four epochs, and saves the state."""
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    loader = cases.feedrate.Loader(
        np.load(f"{folder}/source.npy"),
        batch_size=BATCH,
        crop=16,
        dtype="uint8",
        shuffle=True,
        workers=1,
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    saved = pathlib.Path(folder, "state.pt")
    if saved.exists():
        loader.load_state_dict(torch.load(saved))
    torch.distributed.barrier()
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Linear(3 * 16 * 16, 1)
    )
    seen, left = {}, int(steps)
    while loader.epoch < 4 and left > 0:
        epoch = loader.epoch
        for images, _ in loader:
            model(images.flatten(1) / 255).sum().backward()
            seen.setdefault(epoch, []).extend(map(int, cases.ids(images)))
            left -= 1
            if left == 0:
                break
    if rank == 0:
        torch.save(loader.state_dict(), saved)
    torch.distributed.destroy_process_group()
    # One write: lines of ranks do not mix.
    os.write(1, (json.dumps(seen) + "\n").encode())


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        run_rank(*sys.argv[2:])
    else:
        unittest.main()
