"""feedrate.Loader with torch: tensors, several processes, the example."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest
import warnings

import cases  # Puts feedrate on the path.
import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

EXAMPLE = cases.ROOT / "examples/train_vit.py"
THIS = pathlib.Path(__file__).resolve()


class FolderTest(cases.Case):
    def test_folders_are_read_as_by_torchvision(self):
        from torchvision.datasets import ImageFolder

        root = cases.write_tree(self.folder)
        wanted = ImageFolder(root)
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        loader = self.loader(root)
        self.assertEqual(loader.classes, wanted.classes)
        self.assertEqual(loader.class_to_idx, wanted.class_to_idx)
        self.assertEqual(
            dict(zip(loader.names, loader.labels.tolist(), strict=True)),
            dict(wanted.samples),
        )
        # Pixels of all formats but JPEG, whose decoders differ by a level.
        images, _ = next(iter(self.loader(root, crop_position="center")))
        for name, found in zip(loader.names, images, strict=True):
            image = np.asarray(wanted.loader(name)).astype(int)
            y, x = (image.shape[0] - 16) // 2, (image.shape[1] - 16) // 2
            pixels = image[y : y + 16, x : x + 16].transpose(2, 0, 1)
            is_jpeg = name.lower().endswith((".jpg", ".jpeg"))
            self.assertLessEqual(
                np.abs(pixels - found).max(), 4 if is_jpeg else 0, name
            )
        (root / "aa").mkdir()
        for read in (ImageFolder, self.loader):
            with self.assertRaisesRegex(
                FileNotFoundError, "ound no valid file for the classes aa"
            ):
                read(root)


class TensorTest(cases.Case):
    def test_tensors_share_the_loaders_memory(self):
        loader = self.loader(self.array(), output="torch", labels=range(100))
        images, labels = next(iter(loader))
        self.assertEqual(
            (images.dtype, labels.dtype), (torch.uint8, torch.int64)
        )
        self.assertEqual(images.shape, (8, 3, 16, 16))
        self.assertEqual(labels.tolist(), list(range(8)))
        self.assertEqual(
            torch.from_dlpack(images).data_ptr(), images.data_ptr()
        )
        self.assertEqual(np.from_dlpack(images).ctypes.data, images.data_ptr())
        kept = [images for images, _ in loader]
        found = [number for one in kept for number in cases.ids(one)]
        self.assertEqual(found, list(range(100)))
        self.assertEqual(cases.ids(images), list(range(8)))

    def test_dlpack(self):
        """What a GPU's batches are handed out with, in host memory."""
        source = cases.noisy(20)
        for dtype, last in (("uint8", False), ("float32", True)):
            given = {"dtype": dtype, "channels_last": last}
            wanted = [images for images, _ in self.loader(source, **given)]
            found = self.loader(source, output="dlpack", **given)
            kept = []
            for (images, _), pixels in zip(found, wanted, strict=True):
                self.assertEqual(images.__dlpack_device__(), (1, 0))
                self.assertEqual(images.shape, pixels.shape)
                unused = images.__dlpack__()
                tensor = torch.from_dlpack(images)
                array = np.from_dlpack(images)
                self.assertEqual(tensor.data_ptr(), array.ctypes.data)
                kept.append(tensor)
                del images, unused, array
            # In memory of its own each, although the objects are gone.
            for tensor, pixels in zip(kept, wanted, strict=True):
                np.testing.assert_array_equal(tensor.numpy(), pixels)
        images, _ = next(iter(found))
        for wrong in ({"copy": True}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                images.__dlpack__(**wrong)
        with self.assertRaisesRegex(ValueError, "ambiguous"):
            images.__dlpack__(stream=0)

    def test_channels_last_is_torchs_memory_format(self):
        source = cases.noisy(8)
        for dtype in ("uint8", "float32"):
            (first, _), *_ = self.loader(source, output="torch", dtype=dtype)
            (last, _), *_ = self.loader(
                source, output="torch", dtype=dtype, channels_last=True
            )
            self.assertTrue(torch.equal(first, last))
            self.assertTrue(first.is_contiguous())
            self.assertTrue(
                last.is_contiguous(memory_format=torch.channels_last)
            )

    def test_pinned_memory(self):
        loader = self.loader(self.array(), output="torch", pin_memory=True)
        images, labels = next(iter(loader))
        for tensor in (images, labels):
            self.assertEqual(tensor.is_pinned(), torch.cuda.is_available())

    def test_pinned_memory_is_torchs_and_goes_back_to_it(self):
        """Its allocator knows which copies still read it; gpu_test.py has such
        copies."""
        made = {}

        def make(size):
            block = torch.empty(size, dtype=torch.uint8)
            made[block.data_ptr()] = StorageWeakRef(block.untyped_storage())
            return block, block.data_ptr()

        class Pinned(cases.feedrate.Loader):
            def _make_block(self, pin_memory):
                self._pins = False
                return make

        def alive():
            return sum(not block.expired() for block in made.values())

        for dtype, last in (("uint8", True), ("float32", False)):
            arguments = {"dtype": dtype, "channels_last": last}
            source = cases.noisy(50)
            wanted = iter(self.loader(source, output="torch", **arguments))
            loader = Pinned(source, batch_size=8, crop=16, **arguments)
            for images, _ in loader:
                self.assertTrue(torch.equal(images, next(wanted)[0]))
                self.assertIn(images.untyped_storage().data_ptr(), made)
                # Those that are being filled, and the batch.
                self.assertEqual(alive(), 3)
                part = images[2:]
                del images
                self.assertEqual(alive(), 3)
                del part
                self.assertEqual(alive(), 2)
            loader.close()
            del loader
            self.assertEqual(alive(), 0)

    def test_replaces_a_dataloader(self):
        """The same loop with either; both learn which class is brighter."""
        dark = cases.noisy(64, height=16, width=16) // 4
        source = np.concatenate([dark, dark + 128])
        labels = [0] * 64 + [1] * 64
        pixels = torch.from_numpy(source).permute(0, 3, 1, 2) / 255
        theirs = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(pixels, torch.tensor(labels)),
            batch_size=16,
            shuffle=True,
        )
        ours = self.loader(
            source,
            labels=labels,
            batch_size=16,
            shuffle=True,
            output="torch",
            dtype="float32",
            mean=0,
            std=1,
        )
        self.assertEqual(len(ours), len(theirs))
        for loader in (theirs, ours):
            torch.manual_seed(0)
            model = torch.nn.Sequential(
                torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 2)
            )
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
            losses = []
            for _, (images, targets) in itertools.product(range(6), loader):
                loss = torch.nn.functional.cross_entropy(model(images), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0] / 2)


class ProcessesTest(cases.Case):
    def test_ranks_of_a_training_see_every_item_once(self):
        """DistributedDataParallel with gloo; each rank tells what it saw."""
        np.save(self.folder / "source.npy", self.array())
        started = [
            subprocess.Popen(
                [sys.executable, "-B", THIS, "rank", self.folder, str(rank)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        told = [json.loads(process.communicate()[0]) for process in started]
        for epoch in range(2):
            found = [number for one in told for number in one[epoch]]
            self.assertEqual(sorted(found), list(range(100)))
        self.assertNotEqual(told[0][0], told[0][1])


def run_rank(folder, rank):
    rank, world = int(rank), 2
    torch.distributed.init_process_group(
        "gloo", f"file://{folder}/meeting", rank=rank, world_size=world
    )
    loader = cases.feedrate.Loader(
        np.load(f"{folder}/source.npy"),
        batch_size=8,
        crop=16,
        dtype="uint8",
        shuffle=True,
        workers=2,
        rank=rank,
        world_size=world,
    )
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Linear(3 * 16 * 16, 1)
    )
    seen = []
    for epoch in range(2):
        loader.set_epoch(epoch)
        seen.append([])
        for images, _ in loader:
            model(images.flatten(1) / 255).sum().backward()
            seen[-1] += map(int, cases.ids(images))
    torch.distributed.destroy_process_group()
    print(json.dumps(seen))


class ExampleTest(cases.Case):
    def run_example(self, loader, packages=""):
        cases.write_jpegs(self.folder / "train", 40)
        # Behind the packages of this environment.
        start = (
            "import os, runpy, site, sys\n"
            "if sys.argv[1]: site.addsitedir(sys.argv[1])\n"
            "sys.argv = sys.argv[2:]\n"
            "sys.path[0] = os.path.dirname(sys.argv[0])\n"
            "runpy.run_path(sys.argv[0])\n"
        )
        done = subprocess.run(
            [
                *(sys.executable, "-B", "-c", start, packages, EXAMPLE),
                *(self.folder / "train", f"--loader={loader}"),
                *("--batch_size=8", "--crop=32", "--epochs=2"),
            ],
            env={**os.environ, "PYTHONPATH": str(cases.ROOT / "python")},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        line = r"epoch \d step \d: loss \d+\.\d+, waiting \d+\.\d%\n"
        self.assertRegex(done.stdout, f"^({line}){{10}}$", done.stderr)

    def test_with_feedrate(self):
        self.run_example("feedrate")

    def test_with_dataloader(self):
        self.run_example("dataloader")

    def test_with_dali(self):
        dali = os.environ.get("DALI_PACKAGES")
        if not dali:
            self.skipTest("no environment of DALI: make envs GROUPS=dali")
        version = "python{}.{}".format(*sys.version_info)
        self.run_example("dali", f"{dali}/lib/{version}/site-packages")


class PageTest(cases.Case):
    def test_the_code_of_the_page_runs(self):
        """docs/python_loader.md, in a folder with train/ and val/."""
        from PIL import Image

        for i, pixels in enumerate(cases.noisy(40, height=230, width=240)):
            path = self.folder / "train" / ("dog", "cat")[i % 2] / f"{i}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
        (self.folder / "val").symlink_to("train")
        page = (cases.ROOT / "docs/python_loader.md").read_text()
        blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)
        code = [
            textwrap.dedent(block)
            for block in blocks
            # gpu_test.py has the loop on a GPU.
            if "feedrate.Loader" in block and '"cuda"' not in block
        ]
        self.assertEqual(len(code), 7)
        names = {}
        with contextlib.chdir(self.folder):
            for block in code:
                exec(compile(block, "python_loader.md", "exec"), names)
        self.assertEqual(names["shares"].shape, (40, 2))
        self.assertEqual(names["images"].shape[1:], (3, 224, 224))
        # Of 40 items, 16 were taken before.
        self.assertEqual(names["rest"], 24)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        run_rank(*sys.argv[2:])
    else:
        unittest.main()
