"""feedrate.Loader in the training loops of Lightning and accelerate."""

import logging
import unittest
import warnings

import accelerate
import cases  # Puts feedrate on the path.
import pytorch_lightning as lightning
import torch

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

    def test_its_checkpoint_resumes_in_the_middle_of_an_epoch(self):
        """By other workers, at the next sample."""
        taken = STEPS + 5
        saving = lightning.callbacks.ModelCheckpoint(
            self.folder, "middle", every_n_train_steps=taken
        )
        before = self.trainer(max_steps=taken, callbacks=[saving])
        before.fit(Classifier(), self.training_loader())

        model = Classifier()
        after = self.trainer(max_epochs=3, enable_checkpointing=False)
        after.fit(
            model,
            self.training_loader(workers=1),
            ckpt_path=self.folder / "middle.ckpt",
        )
        self.assertEqual(after.global_step, 3 * STEPS)
        _, second, third = self.expected(3)
        self.assertEqual(model.seen, {1: second[5 * BATCH :], 2: third})


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

    def test_its_checkpoint_resumes_in_the_middle_of_an_epoch(self):
        first, second, third = self.expected(3)
        loader = self.training_loader()
        prepared = self.prepared(loader)
        self.assertEqual(self.train(loader, prepared), first)
        self.assertEqual(
            self.train(loader, prepared, steps=5), second[: 5 * BATCH]
        )
        prepared[0].save_state(str(self.folder / "middle"))

        again = self.training_loader(workers=1)
        prepared = self.prepared(again)
        prepared[0].load_state(str(self.folder / "middle"))
        self.assertEqual(self.train(again, prepared), second[5 * BATCH :])
        self.assertEqual(self.train(again, prepared), third)


if __name__ == "__main__":
    unittest.main()
