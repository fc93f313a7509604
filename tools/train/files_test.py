#!/usr/bin/env python3
"""`train` on images and episodes, and from checkpoints: needs libtorch.

    files_test.py BAZEL_BIN [TEST...]

dev/checks/torch_model_test.sh runs it.
"""

import hashlib
import math
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import torch_test
from torch_test import BIN, QUICK, ROOT, python_of, rows, run, train


def change_checkpoint(path, start, line):
    """Another line instead of the one that begins so, with the checksum."""
    first, _, rest = path.read_bytes().split(b"\n", 2)
    head, data = rest.split(b"\ndata\n", 1)
    lines = head.split(b"\n")
    lines = [line if one.startswith(start) else one for one in lines]
    rest = b"\n".join(lines) + b"\ndata\n" + data
    sha256 = hashlib.sha256(rest).hexdigest().encode()
    path.write_bytes(b"\n".join([first, b"sha256 " + sha256, rest]))


class FilesTest(torch_test.FolderTest):
    def test_a_resumed_training_goes_on_to_the_bit(self):
        first = self.folder / "first.ckpt"
        train("--threads=1", f"--checkpoint={first}")
        (resumed,) = train(
            "--threads=1", "--warmup-steps=0", f"--resume-from={first}"
        )
        (whole,) = train("--threads=1", "--measured-steps=8")
        self.assertEqual(
            resumed["train"]["losses"], whole["train"]["losses"][4:]
        )

    def check_resumes(self, data, parts, *flags):
        """Trainings of `parts` steps, each continuing the one before, learn the
        same as one of all steps, to the bit. Returns their rows."""
        flags = [
            "--scope=e2e",
            f"--dataset={data}",
            "--threads=1",
            "--warmup-steps=0",
            *flags,
        ]
        *_, whole = train(*flags, f"--measured-steps={sum(parts)}")
        checkpoint = self.folder / "part.ckpt"
        checkpoint.unlink(missing_ok=True)
        losses, found = [], []
        for steps in parts:
            resume = checkpoint.exists()
            out, _ = run(
                "train",
                "--batch-size=12",
                *flags,
                f"--measured-steps={steps}",
                f"--checkpoint={checkpoint}",
                *[f"--resume-from={checkpoint}"] * resume,
            )
            found.append(rows(out)[-1])
            losses += found[-1]["train"]["losses"]
            resumed = found[-1]["train"].get("resumed", {})
            self.assertFalse(resumed.get("restarted"))
        self.assertEqual(losses, whole["train"]["losses"])
        return found

    def test_a_resumed_training_goes_on_with_its_data(self):
        images = self.images(144)
        flags = ["--batch-size=12", "--workers=2"]
        # At the ends of epochs, and within them.
        found = self.check_resumes(images, (12, 12, 12), *flags)
        self.assertEqual(
            [row["train"].get("resumed") for row in found],
            [
                None,
                {"step": 12, "sample": 144, "epoch": 0, "restarted": ""},
                {"step": 24, "sample": 144, "epoch": 1, "restarted": ""},
            ],
        )
        self.check_resumes(images, (1, 6, 9, 4), *flags, "--workers=0")
        # The order of the samples is that of all processes.
        self.check_resumes(
            images, (3, 4, 2), "--batch-size=6", "--world-size=2"
        )
        shards = self.folder / "shards"
        shards.mkdir()
        for number in range(2):
            files = sorted(images.rglob("*.jpg"))[number::2]
            subprocess.run(
                ["tar", "-cf", shards / f"{number}.tar", *files],
                check=True,
                stderr=subprocess.DEVNULL,
            )
        self.check_resumes(shards, (5, 8, 3), *flags)
        self.check_resumes(f"file://{images}", (5, 8, 3), *flags)

    def test_a_resumed_recipe_goes_on_to_the_bit(self):
        recipe = [
            "--learning-rate-warmup=3",
            "--schedule=cosine",
            "--learning-rate-min=0.0001",
            "--label-smoothing=0.1",
            "--stochastic-depth=0.3",
            "--mixing=both",
            "--ema-decay=0.9",
        ]
        flags = [
            "--augment=three_augment",
            "--batch-size=12",
            "--workers=1",
            *recipe,
        ]
        found = self.check_resumes(
            self.images(48), (2, 5, 4), "--schedule-steps=11", *flags
        )
        # The rates of steps 1, 6 and 10, counted from 0.
        rates = [row["train"]["last_learning_rate"] for row in found]
        for rate, share in zip(rates, (None, 3 / 8, 7 / 8), strict=True):
            cosine = (1 + math.cos(math.pi * (share or 0))) / 2
            self.assertAlmostEqual(
                rate, 1e-4 + 9e-4 * cosine if share else 2e-3 / 3
            )
        for name, value in (("schedule", "cosine"), ("ema_decay", "0.9")):
            self.assertEqual(found[0]["settings"][name], value)
        # Where the checkpoint says when the schedule ends, nothing else need.
        checkpoint = self.folder / "half.ckpt"
        more = ["--threads=1", "--warmup-steps=0", *recipe]
        train(*more, "--schedule-steps=8", f"--checkpoint={checkpoint}")
        (rest,) = train(*more, f"--resume-from={checkpoint}")
        self.assertAlmostEqual(
            rest["train"]["last_learning_rate"],
            1e-4 + 9e-4 * (1 + math.cos(math.pi * 4 / 5)) / 2,
        )
        _, err = run("train", f"--resume-from={checkpoint}", *QUICK, code=1)
        self.assertIn("has averages of weights; add its --ema_decay", err)

    def test_a_resumed_mixture_goes_on_with_its_episodes(self):
        data = ROOT / "lib/loader/mixture/testdata"
        mixed = self.folder / "mixed"
        mixed.mkdir()
        (mixed / "arm").symlink_to(data / "rlds/arm")
        (mixed / "new").symlink_to(data / "lerobot/new")
        flags = ["--loader=mixture", "--batch-size=12"]
        found = self.check_resumes(mixed, (2, 5, 9), *flags)
        self.assertEqual(found[2]["train"]["resumed"]["sample"], 7 * 6)
        self.check_resumes(mixed, (2, 5), *flags, "--world-size=2")

    def test_a_position_that_is_none_is_refused(self):
        """It was the beginning of the data, without a word."""
        checkpoint = self.folder / "one.ckpt"
        flags = ["--scope=e2e", "--workers=1", "--warmup-steps=0"]
        flags.append(f"--dataset={self.images(48)}")
        mixed = self.folder / "mixed"
        mixed.mkdir()
        arm = ROOT / "lib/loader/mixture/testdata/rlds/arm"
        (mixed / "arm").symlink_to(arm)
        mixture = ["--scope=e2e", "--loader=mixture", "--warmup-steps=0"]
        mixture.append(f"--dataset={mixed}")
        far = 2**53
        for how, positions in (
            (flags, ("", ";0,4", "0", "0,49", "-1,0", f"0,{far + 1}", "0,x")),
            (mixture, ("", "4", f"4,0,{far}", "4,-2,0", "4,0,0,0,0", "-1,0,0")),
        ):
            train(*how, f"--checkpoint={checkpoint}")
            whole = checkpoint.read_bytes()
            for position in positions:
                text = b"meta data.position " + position.encode()
                change_checkpoint(checkpoint, b"meta data.position", text)
                _, err = run(
                    "train",
                    *QUICK,
                    *how,
                    f"--resume-from={checkpoint}",
                    "--fail-on=failed",
                    code=3,
                )
                self.assertRegex(err, "position|interrupted")
                checkpoint.write_bytes(whole)

    def test_other_data_starts_from_its_beginning_and_says_so(self):
        checkpoint = self.folder / "one.ckpt"
        flags = ["--scope=e2e", "--workers=1", "--warmup-steps=0"]
        images = self.images(48)
        train(*flags, f"--dataset={images}", f"--checkpoint={checkpoint}")
        out, err = run(
            "train",
            *QUICK,
            *flags,
            f"--dataset={images}",
            "--seed=1",
            f"--resume-from={checkpoint}",
        )
        resumed = rows(out)[0]["train"]["resumed"]
        self.assertIn("another seed", resumed["restarted"])
        self.assertNotIn("sample", resumed)
        self.assertIn("the data starts from its beginning", err)

    def test_processes_share_one_order_of_files(self):
        images = self.images(48)
        flags = ["--scope=e2e", f"--dataset={images}", "--threads=1"]
        one, two = (
            train(*flags, *more)[-1]["train"]
            for more in (
                ["--batch-size=8"],
                ["--batch-size=4", "--world-size=2"],
            )
        )
        for a, b in zip(one["losses"], two["losses"], strict=True):
            self.assertAlmostEqual(a, b, places=4)
        self.assertEqual(one["sharing"], "")
        self.assertEqual(two["sharing"], "one_order")

    def images(self, count=24):
        images = self.folder / "images"
        subprocess.run(
            [
                BIN / "lib/media/write_synthetic",
                f"--folder={images}",
                f"--n={count}",
            ],
            check=True,
        )
        return images

    def check_loader(self, loader):
        flips, augments = train(
            "--scope=e2e",
            f"--loader={loader}",
            f"--dataset={self.images()}",
            "--workers=1",
            "--prefetch=2",
            "--warmup-steps=0",
            "--measured-steps=1",
            "--sweep=augment=flip,three_augment",
        )
        self.assertEqual(augments["status"], "ok", augments["reason"])
        self.assertEqual(augments["settings"]["augment"], "three_augment")
        self.assertNotEqual(
            flips["train"]["losses"], augments["train"]["losses"]
        )
        (row,) = train(
            "--scope=e2e",
            f"--loader={loader}",
            f"--dataset={self.images()}",
            "--workers=1",
            "--epochs=1",
            "--warmup-steps=1",
        )
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual(row["train"]["measured_steps"], 6)
        self.assertEqual(row["train"]["loader"], loader)
        self.assertRegex(
            row["train"]["storage"], r"^\w+, \d+ MB/s, 100% cached$"
        )
        self.assertEqual(row["cache"]["resident_fraction"], 1)
        self.assertEqual(row["dataset"]["files"], 24)
        self.assertGreater(row["train"]["budget"]["data_wait_s"], 0)

    def test_images_from_disk(self):
        self.check_loader("native")

    def test_frames_of_rlds_and_lerobot(self):
        data = ROOT / "lib/loader/mixture/testdata"
        mixed = self.folder / "mixed"
        mixed.mkdir()
        (mixed / "arm").symlink_to(data / "rlds/arm")
        (mixed / "new").symlink_to(data / "lerobot/new")
        (row,) = train(
            "--scope=e2e",
            "--loader=mixture",
            f"--dataset={mixed}",
            "--mixture=metadata=full;action_chunk=4;samples_per_episode=2",
        )
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual(row["train"]["loader"], "mixture")
        self.assertEqual(row["train"]["measured_steps"], 4)
        for i in range(9):
            (mixed / f"arm{i}").symlink_to(data / "rlds/arm")
        out, _ = run(
            "train",
            *QUICK,
            "--scope=e2e",
            "--loader=mixture",
            f"--dataset={mixed}",
            code=2,
        )
        self.assertIn("has 11 data sets", rows(out)[0]["reason"])

    def test_the_small_study_feeds_its_training(self):
        """Its data sets are classes, of which its model had too few."""
        study = (ROOT / "dev/studies/study_mixture.sh").read_text()
        count = re.search(r"synthetic:episodes,datasets=(\d+),", study)[1]
        mixed = self.folder / "mixed"
        mixed.mkdir()
        for i in range(int(count)):
            arm = ROOT / "lib/loader/mixture/testdata/rlds/arm"
            (mixed / f"arm{i}").symlink_to(arm)
        best = self.folder / "best.jsonl"
        best.write_text('{"from": "a", "samples_per_s": 9, "settings": {}}\n')
        done = subprocess.run(
            [
                ROOT / "tools/mixture/train_best.py",
                f"--dataset={mixed}",
                f"--output={self.folder}/train.jsonl",
                *("--rounds=1", "--warmup=1", "--steps=1", "--batch_size=4"),
                best,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("images/s, waits", done.stdout)

    def test_cold_files_are_dropped_and_labeled(self):
        (row,) = train(
            "--scope=e2e", "--cold", f"--dataset={self.images()}", "--workers=1"
        )
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertIn(
            "cold"
            if row["cache"]["resident_fraction"] <= 0.01
            else "partly_cold",
            row["labels"],
        )

    def test_files_of_both_processes_are_counted(self):
        images = self.images()
        os.mkfifo(images / "pipe.jpg")
        alone, both = train(
            "--scope=e2e",
            f"--dataset={images}",
            "--workers=1",
            "--world-size=2",
            "--threads=1",
        )
        for row in (alone, both):
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(row["dataset"]["files"], 24)
            self.assertEqual(row["train"]["skipped_files"], 1)
            (skipped,) = row["train"]["skipped"]
            self.assertEqual(skipped["path"], str(images / "pipe.jpg"))
            self.assertEqual(skipped["reason"], "is not a regular file")

    def test_more_classes_than_the_model_has_are_refused(self):
        images = self.images()
        for i, path in enumerate(sorted(images.iterdir())):
            (images / f"class{i % 12}").mkdir(exist_ok=True)
            path.rename(images / f"class{i % 12}" / path.name)
        e2e = ["--scope=e2e", f"--dataset={images}"]
        _, errors = run("train", *QUICK, *e2e, code=1)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertIn(f"{images}: has 12 classes, and the model has 10", errors)
        for i in (10, 11):
            shutil.rmtree(images / f"class{i}")
        (images / "class3/notes.txt").write_text("no image")
        _, errors = run("train", *QUICK, *e2e)
        self.assertIn("ignored 1 file: 1 .txt; the first is", errors)
        (images / "aa").mkdir()
        _, errors = run("train", *QUICK, *e2e, code=1)
        self.assertIn("found no valid file for the classes aa", errors)

    def test_unusable_files_are_counted_and_named(self):
        images = self.images()
        (images / "text.jpg").write_text("no image")
        first = sorted(images.iterdir())[0]
        (images / "größe.jpg").write_bytes(first.read_bytes()[:20000])
        out, errors = run(
            "train",
            *QUICK,
            "--scope=e2e",
            "--loader=native",
            f"--dataset={images}",
            "--workers=1",
            "--epochs=3",
            "--warmup-steps=1",
        )
        (row,) = rows(out)
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual(row["dataset"]["files"], 24)
        self.assertEqual(row["train"]["skipped_files"], 2)
        self.assertEqual(
            sorted(
                pathlib.Path(f["path"]).name for f in row["train"]["skipped"]
            ),
            ["größe.jpg", "text.jpg"],
        )
        self.assertIn("skipped_files", row["labels"])
        self.assertIn("2 files were skipped", errors)

    @unittest.skipUnless(
        python_of("torch_stack"), "make envs GROUPS=torch_stack"
    )
    def test_images_of_torchvision(self):
        self.check_loader("torchvision")

    @unittest.skipUnless(python_of("dali"), "make envs GROUPS=dali")
    def test_images_of_dali(self):
        self.check_loader("dali")

    @unittest.skipUnless(
        python_of("torch_stack"), "make envs GROUPS=torch_stack"
    )
    def test_a_file_that_is_no_image_is_named(self):
        images = self.images()
        for image in images.iterdir():
            image.write_bytes(b"no image")
        (row,) = train(
            "--scope=e2e",
            "--loader=torchvision",
            f"--dataset={images}",
            "--workers=1",
            code=2,
        )
        self.assertEqual(row["status"], "failed")
        self.assertIn("loader torchvision: RuntimeError", row["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
