#!/usr/bin/env python3
"""Image models: `eval` on labeled folders, and the validation of `train`.

    image_eval_test.py BAZEL_BIN [TEST...]

dev/checks/torch_model_test.sh runs it.
"""

import io
import json
import pathlib
import shutil
import struct
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest
import zlib

from torch_test import CHECKPOINT, QUICK, rows, run, train


def write_png(path, color, border=None):
    """An image of one color, whose center has vit5_tiny's size of 32; the
    border may have another color."""
    center, edge = bytes(color) * 32, bytes(border or color) * 4
    rows_of = [b"\0" + edge + center + edge] * 32
    outside = [b"\0" + bytes(border or color) * 40] * 4

    def chunk(kind, data):
        body = kind + data
        return (
            struct.pack(">I", len(data))
            + body
            + struct.pack(">I", zlib.crc32(body))
        )

    header = struct.pack(">IIBBBBB", 40, 40, 8, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"".join(outside + rows_of + outside)))
        + chunk(b"IEND", b"")
    )


COLORS = {
    "blue": (20, 20, 230),
    "green": (20, 230, 20),
    "red": (230, 20, 20),
}


def labeled_images(folder, per_class=8, colors=COLORS):
    """A folder with a subfolder per color."""
    for name, color in colors.items():
        for i in range(per_class):
            write_png(
                folder / name / f"{i}.png", [value + i % 16 for value in color]
            )
    return folder


class ImageEvalTest(unittest.TestCase):
    """Image models on labeled folders."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.images = labeled_images(cls.folder / "images")
        cls.checkpoint = cls.folder / "vit.ckpt"
        (row,) = train(
            "--scope=e2e",
            f"--dataset={cls.images}",
            "--workers=1",
            "--threads=1",
            "--measured-steps=40",
            f"--checkpoint={cls.checkpoint}",
        )
        assert row["status"] == "ok", row["reason"]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def evaluate(self, images, *flags, code=0):
        out, err = run(
            "eval",
            f"--checkpoint={self.checkpoint}",
            f"--dataset={images}",
            *flags,
            code=code,
        )
        return (json.loads(out) if code == 0 else out), err

    def test_what_was_learned_is_found(self):
        record, _ = self.evaluate(self.images)
        self.assertEqual(record["model"], "vit5_tiny")
        self.assertEqual(record["images"], 24)
        self.assertEqual(record["dataset"], "images")
        self.assertEqual((record["top1"], record["top5"]), (100, 100))
        self.assertLess(record["loss"], 0.5)
        self.assertNotIn("perplexity", record)

    def test_threads_change_no_bit(self):
        # Several batches.
        many = labeled_images(self.folder / "many", per_class=70)
        one, _ = self.evaluate(many)
        self.assertEqual(one["images"], 210)
        self.assertEqual(self.evaluate(many, "--workers=3")[0], one)

    def test_only_the_center_is_seen(self):
        losses = []
        for name, border in (("plain", None), ("framed", (255, 255, 0))):
            image = self.folder / name / "green/0.png"
            write_png(image, COLORS["green"], border)
            losses.append(self.evaluate(self.folder / name)[0]["loss"])
        self.assertEqual(*losses)

    def test_shards_have_numbers_of_classes(self):
        shards = self.folder / "shards"
        shards.mkdir()
        for number, name in enumerate(sorted(COLORS)):
            with tarfile.open(shards / f"{name}.tar", "w") as tar:
                for i, image in enumerate(
                    sorted((self.images / name).iterdir())
                ):
                    label = str(number).encode()
                    member = tarfile.TarInfo(f"{i:03}.cls")
                    member.size = len(label)
                    tar.addfile(member, io.BytesIO(label))
                    tar.add(image, f"{i:03}.png")
        record, _ = self.evaluate(shards)
        expected, _ = self.evaluate(self.images)
        for name in ("images", "top1", "top5", "loss"):
            self.assertEqual(record[name], expected[name], name)

    def test_classes_are_known_by_name(self):
        """Two classes changed places, and one is missing."""
        other = self.folder / "other"
        labeled_images(
            other,
            per_class=2,
            colors={"green": COLORS["green"], "red": COLORS["blue"]},
        )
        record, _ = self.evaluate(other)
        self.assertEqual((record["images"], record["top1"]), (4, 50))
        self.assertEqual(record["top5"], 100)

    def test_a_file_that_is_no_image_is_left_out(self):
        other = labeled_images(self.folder / "damaged", per_class=3)
        (other / "green/0.png").write_text("no image")
        (other / "red/2.png").write_text("no image")
        (other / "red/3.png").symlink_to("nowhere")
        (other / "red/notes.txt").write_text("no image")
        record, err = self.evaluate(other)
        self.assertEqual((record["images"], record["skipped_files"]), (7, 3))
        self.assertEqual(record["top1"], 100)
        self.assertIn("3 files were skipped; the first: ", err)
        self.assertIn("red/3.png: is not a regular file", err)
        self.assertIn("ignored 1 file: 1 .txt; the first is", err)

    def test_numbers_are_expected_and_written(self):
        expected = self.folder / "expected.json"
        written = self.folder / "eval.json"
        for value, code in ((100, 0), (90, 3)):
            expected.write_text(
                json.dumps({"top1": {"value": value, "tolerance": 1}})
            )
            run(
                "eval",
                f"--checkpoint={self.checkpoint}",
                f"--dataset={self.images}",
                f"--expect={expected}",
                f"--eval-json={written}",
                code=code,
            )
        numbers = json.loads(written.read_text())
        self.assertEqual(numbers["top5"], 100)
        self.assertNotIn("perplexity", numbers)
        out, _ = run(
            "eval",
            f"--checkpoint={self.checkpoint}",
            f"--dataset={self.images}",
            "--format=text",
        )
        self.assertEqual(
            [line.split()[0] for line in out.splitlines()],
            ["loss", "top1", "top5"],
        )

    def validated(self, *flags, code=0, within=()):
        return run(
            "train",
            *QUICK,
            "--scope=e2e",
            f"--dataset={self.images}",
            "--workers=1",
            "--threads=1",
            *flags,
            code=code,
            within=within,
        )

    def test_validation_is_an_evaluation_between_steps(self):
        checkpoint = self.folder / "validated.ckpt"
        out, err = self.validated(
            "--measured-steps=5",
            "--validate-every=3",
            f"--validation-dataset={self.images}",
            f"--checkpoint={checkpoint}",
        )
        (row,) = rows(out)
        validations = row["train"]["validations"]
        # Warm-up has two steps; the last one is always validated.
        self.assertEqual([v["step"] for v in validations], [3, 6, 7])
        out, _ = run(
            "eval", f"--checkpoint={checkpoint}", f"--dataset={self.images}"
        )
        record = json.loads(out)
        for name in ("loss", "top1", "top5", "images"):
            self.assertEqual(validations[-1][name], record[name], name)
        self.assertIn("validation of", err)
        # It changes neither what is learned nor the number of steps.
        (plain,) = rows(self.validated("--measured-steps=5")[0])
        self.assertEqual(plain["train"]["losses"], row["train"]["losses"])
        self.assertEqual(plain["train"]["validations"], [])
        self.assertAlmostEqual(
            sum(row["samples_s"]),
            row["elapsed_s"],
            delta=0.1 * row["elapsed_s"],
        )

    def test_energy_is_of_the_steps_alone(self):
        """On a machine whose processors always use 100 W."""
        fake = self.folder / "class"
        package = fake / "powercap/intel-rapl:0"
        package.mkdir(parents=True)
        (package / "name").write_text("package-0")
        within = ["unshare", "--mount", "--map-root-user", "bash", "-c"]
        within += ['mount --bind "$0" /sys/class && exec "$@"', fake]
        if subprocess.run([*within, "true"], check=False).returncode != 0:
            self.skipTest("no user namespaces here")
        begun, ended = time.monotonic(), threading.Event()

        def count():
            while not ended.wait(0.001):
                used = round((time.monotonic() - begun) * 100e6)
                (package / "new").write_text(str(used))
                (package / "new").rename(package / "energy_uj")

        counter = threading.Thread(target=count)
        counter.start()
        try:
            out, _ = self.validated(
                "--measured-steps=8",
                "--validate-every=4",
                "--validation-dataset="
                f"{labeled_images(self.folder / 'many', per_class=20)}",
                within=within,
            )
        finally:
            ended.set()
            counter.join()
        (row,) = rows(out)
        self.assertEqual(len(row["train"]["validations"]), 3)
        watts = row["energy"]["cpu_j"] / row["elapsed_s"]
        self.assertGreater(watts, 60)
        self.assertLess(watts, 160)

    def test_processes_share_the_validation(self):
        """And say what they skip."""
        partly = labeled_images(self.folder / "partly")
        for name in ("green/broken.png", "red/broken.jpg"):
            (partly / name).write_text("no image")
        flags = [
            "--validate-every=6",
            f"--validation-dataset={partly}",
            "--world-size=2",
            "--batch-size=2",
        ]
        alone, both = rows(self.validated(*flags)[0])
        for row in (alone, both):
            self.assertEqual(row["status"], "ok", row["reason"])
            (validation,) = row["train"]["validations"]
            self.assertEqual(validation["images"], 24)
            self.assertEqual(validation["skipped"], 2)

    def test_a_validation_that_cannot_be_is_one_line(self):
        flat = self.folder / "unlabeled"
        write_png(flat / "1.png", (0, 0, 0))
        every = "--validate-every=3"
        good = f"--validation-dataset={self.images}"
        for flags, words in (
            ([every], "use both or neither"),
            ([good], "use both or neither"),
            (
                [every, f"--validation-dataset={flat}"],
                "no item is in the folder",
            ),
            ([every, good, f"--dataset={flat}"], "has no classes"),
        ):
            _, err = self.validated(*flags, code=1)
            self.assertIn(words, err)
        _, err = run("train", *QUICK, every, good, code=1)
        self.assertIn("must be trained on labeled images", err)

    def test_wrong_inputs_are_one_line(self):
        flat = self.folder / "flat"
        write_png(flat / "1.png", (0, 0, 0))
        more = labeled_images(self.folder / "more", 1, {"pink": (255, 0, 255)})
        for images, flags, words in (
            ("/none", [], "/none: no such folder"),
            (flat, [], "flat: no item is in the folder of a class"),
            (more, [], 'a class "pink" that the training does not have'),
            (self.images, ["--shard=x"], "--shard: is for language models"),
            (self.images, ["--workers=0"], "--workers must be from 1"),
        ):
            _, err = self.evaluate(images, *flags, code=1)
            self.assertIn(words, err)
            self.assertEqual(err.count("\n"), 1, err)
        _, err = run("eval", f"--checkpoint={self.checkpoint}", code=1)
        self.assertIn("is of the image model vit5_tiny; name a folder", err)
        _, err = run(
            "eval",
            f"--checkpoint={CHECKPOINT}",
            f"--dataset={self.images}",
            code=1,
        )
        self.assertIn("is of a language model; leave --dataset out", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
