"""The script of docs/python_episodes.md inside lerobot's own training.

    <environment>/bin/python -m library_tests.lerobot_training_test

runs it as its page says, with a small policy on the CPU, and then lerobot's
training again on the same samples, which lerobot reads itself: the losses of
all steps are equal, to the bit where frames are images, and to what decoders
differ in where they are videos. dev/checks/lerobot_test.sh runs it.
"""

import pathlib
import re
import sys
import tempfile
import unittest

import torch
from lerobot.scripts import lerobot_train
from testing import lerobot_episodes as written
from torch.utils.data import default_collate

ROOT = pathlib.Path(__file__).resolve().parents[4]
CAMERA = next(iter(written.CAMERAS))
STEPS = 6
FLAGS = f"""--dataset.repo_id=feedrate/test --dataset.use_imagenet_stats=false
    --policy.type=act --policy.device=cpu --policy.push_to_hub=false
    --policy.chunk_size=6 --policy.n_action_steps=6 --policy.dim_model=32
    --policy.dim_feedforward=32 --policy.n_heads=2 --policy.n_encoder_layers=1
    --policy.n_vae_encoder_layers=1 --policy.latent_dim=8
    --policy.pretrained_backbone_weights=null --batch_size=4 --steps={STEPS}
    --num_workers=0 --save_checkpoint=false --wandb.enable=false --seed=3
    """.split()


def script():
    page = (ROOT / "docs/python_episodes.md").read_text()
    (found,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    return compile(found, "python_episodes.md", "exec")


class TrainingTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, sys, "argv", sys.argv)
        for name in ("cycle", "update_policy"):
            self.addCleanup(
                setattr, lerobot_train, name, getattr(lerobot_train, name)
            )
        self.update = lerobot_train.update_policy
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def train(self, run, name):
        """(losses, indexes of the samples) by step."""
        losses, indexes = [], []

        def update(metrics, policy, batch, *rest, **others):
            done = self.update(metrics, policy, batch, *rest, **others)
            losses.append(metrics.loss.val)
            indexes.append(batch["index"].tolist())
            return done

        lerobot_train.update_policy = update
        sys.argv = [
            "lerobot-train",
            *FLAGS,
            f"--dataset.root={self.folder / 'set'}",
            f"--output_dir={self.folder / name}",
        ]
        run()
        self.assertEqual(len(losses), STEPS)
        return losses, indexes

    def both(self, kind):
        written.write(
            self.folder / "set", kind, {CAMERA: written.CAMERAS[CAMERA]}
        )
        ours, indexes = self.train(lambda: exec(script(), {}), "ours")
        self.assertEqual(
            len({i for batch in indexes for i in batch}), 4 * STEPS
        )

        def same(loader):
            for batch in indexes:
                items = [loader.dataset[i] for i in batch]
                yield default_collate(items)

        lerobot_train.cycle = same
        theirs, again = self.train(lerobot_train.main, "theirs")
        self.assertEqual(again, indexes)
        return torch.tensor(ours), torch.tensor(theirs)

    def test_images(self):
        ours, theirs = self.both("image")
        self.assertTrue(torch.equal(ours, theirs), (ours, theirs))

    def test_videos(self):
        ours, theirs = self.both("video")
        self.assertTrue(torch.allclose(ours, theirs, rtol=0.02), (ours, theirs))


if __name__ == "__main__":
    unittest.main()
