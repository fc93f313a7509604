#!/usr/bin/env python3
"""Weights that `train` exports and imports: needs libtorch.

    weights_test.py BAZEL_BIN [TEST...]

dev/checks/torch_model_test.sh runs it.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import unittest
import zlib

import torch_test
from torch_test import ROOT, run, train

# Changes no weight: too small to be added.
STILL = ["--learning-rate=1e-30", "--warmup-steps=0", "--measured-steps=1"]


def read(path):
    """Metadata, and tensors as (shape, values)."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    about = header.pop("__metadata__")
    tensors = {}
    for name, tensor in header.items():
        assert tensor["dtype"] == "F32"
        first, last = (8 + length + at for at in tensor["data_offsets"])
        values = struct.unpack(f"<{(last - first) // 4}f", data[first:last])
        tensors[name] = (tensor["shape"], values)
    return about, tensors


# Mean loss of images of 32 x 32 pixels, by the example.
EXAMPLE = """
import json, sys, torch
sys.path.insert(0, "examples")
from load_weights import Vit
images, classes = json.load(sys.stdin)
x = torch.tensor(images).view(-1, 32, 32, 3).permute(0, 3, 1, 2) / 255
mean, std = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
x = (x - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
logits = Vit(sys.argv[1])(x)
print(torch.nn.functional.cross_entropy(logits, torch.tensor(classes)).item())
"""


def python_with_safetensors():
    """A Python that has torch and safetensors, or None."""
    lock = ROOT / "dev/locks/training.lock"
    made = subprocess.run(
        [ROOT / "dev/python_env.sh", "--made", lock],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    for python in (sys.executable, f"{made}/bin/python"):
        if not pathlib.Path(python).is_file():
            continue
        tried = [python, "-c", "import safetensors, torch"]
        if subprocess.run(tried, capture_output=True).returncode == 0:
            return python
    return None


def write_png(path, pixels):
    """Pixels of an image of 32 x 32, as bytes."""

    def chunk(kind, data):
        body = kind + data
        end = struct.pack(">I", zlib.crc32(body))
        return struct.pack(">I", len(data)) + body + end

    lines = b"".join(b"\0" + pixels[96 * y : 96 * (y + 1)] for y in range(32))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


class WeightsTest(torch_test.FolderTest):
    def exported(self, *flags, name="w"):
        path = self.folder / f"{name}.safetensors"
        train("--threads=1", *flags, f"--export={path}")
        return path

    def test_what_is_exported_is_imported_to_the_bit(self):
        first = self.exported("--seed=3")
        about, tensors = read(first)
        self.assertEqual(about["model"], "vit5_tiny")
        self.assertEqual((about["heads"], about["patch_size"]), ("2", "4"))
        self.assertEqual(about["step"], "6")
        self.assertEqual(tensors["blocks.3.up.weight"][0], [256, 64])
        self.assertEqual(tensors["head.bias"][0], [10])
        again = self.exported(*STILL, f"--import={first}", name="again")
        self.assertEqual(read(again)[1], tensors)
        self.assertNotEqual(read(self.exported(*STILL))[1], tensors)

    def test_averages_follow_the_weights(self):
        start = read(self.exported(*STILL))[1]
        averages = self.folder / "ema.safetensors"
        end = read(
            self.exported(
                "--warmup-steps=0",
                "--measured-steps=1",
                "--ema-decay=0.75",
                f"--export-ema={averages}",
            )
        )[1]
        for name, (shape, values) in read(averages)[1].items():
            self.assertEqual(shape, end[name][0])
            for a, b, c in zip(
                start[name][1], end[name][1], values, strict=True
            ):
                self.assertAlmostEqual(0.75 * a + 0.25 * b, c, places=6)

    def test_an_old_file_is_replaced_and_a_link_is_not_followed(self):
        path = self.folder / "w.safetensors"
        other = self.folder / "other"
        other.write_text("of somebody else")
        path.symlink_to(other)
        self.exported(*STILL)
        self.assertEqual(other.read_text(), "of somebody else")
        self.assertFalse(path.is_symlink())
        self.assertEqual(
            sorted(f.name for f in self.folder.iterdir()),
            ["other", "w.safetensors"],
        )

    def refused(self, *flags):
        _, err = run("train", *torch_test.QUICK, *flags, code=1)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_a_foreign_file_is_refused_in_one_line(self):
        path = self.exported(*STILL)
        data = path.read_bytes()
        for name, content, words in (
            ("short", data[:-1], "is cut short"),
            ("long", data + b"x", "has more bytes than its tensors"),
            ("text", b"no tensors at all", "its header would not fit"),
            ("empty", b"", "is too short"),
            (
                "typed",
                data.replace(b'"F32"', b'"I32"', 1),
                "as I32; save it as F32",
            ),
            (
                "named",
                data.replace(b'"head.bias"', b'"heat.bias"', 1),
                "has no head.bias, which vit5_tiny needs",
            ),
        ):
            bad = self.folder / name
            bad.write_bytes(content)
            self.assertIn(words, self.refused(f"--import={bad}"))
        self.assertIn(
            "vit5_small needs",
            self.refused(f"--import={path}", "--model=vit5_small"),
        )
        self.assertIn("none", self.refused("--import=/none"))
        self.assertIn(
            "leave one out",
            self.refused(
                f"--import={path}",
                f"--resume-from={self.checkpoint()}",
            ),
        )
        self.assertIn("add --ema_decay", self.refused("--export-ema=x"))
        self.assertIn(
            "only library feedrate",
            self.refused("--export=x", "--libraries=torch_eager"),
        )

    def checkpoint(self):
        path = self.folder / "c.ckpt"
        train(*STILL, f"--checkpoint={path}")
        return path

    def test_the_example_gives_the_same_logits(self):
        python = python_with_safetensors()
        if python is None:
            self.skipTest("make the environment of dev/locks/training.lock")
        draw = random.Random(5)
        images, classes = [], []
        for number in range(12):
            images.append(draw.randbytes(32 * 32 * 3))
            classes.append(number % 3)
            name = f"images/{classes[-1]}/{number}.png"
            write_png(self.folder / name, images[-1])
        data = self.folder / "images"
        path = self.folder / "w.safetensors"
        (row,) = train(
            "--threads=1",
            "--scope=e2e",
            f"--dataset={data}",
            "--workers=1",
            "--measured-steps=20",
            "--validate-every=100",
            f"--validation-dataset={data}",
            f"--export={path}",
        )
        done = subprocess.run(
            [python, "-B", "-c", EXAMPLE, path],
            input=json.dumps([list(map(list, images)), classes]),
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        loss = row["train"]["validations"][-1]["loss"]
        self.assertAlmostEqual(float(done.stdout), loss, places=5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
