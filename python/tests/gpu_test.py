"""feedrate.Loader with device="cuda", held against the CPU loader; and copies
to the GPU of what the CPU loader makes.

Needs a GPU and torch; without a GPU it says so and checks nothing. Runs in the
bundle of dev/gpu_bundle.sh (gpu_check.sh module) and in a checkout after

    dev/bazel.sh build --config=cuda //lib/loader/python:feedrate_loader \\
        //lib/media:write_synthetic

CopyTest and `gpu_test.py speed` need neither CUDA in the library nor
write_synthetic.
"""

import gc
import shutil
import sys
import time
import unittest
import warnings

import cases  # Puts feedrate on the path.
import numpy as np
import torch

IMAGES = 43
# Of IMAGENET_STD: a level is 1 / 255 of the range before normalizing.
STD = np.array((0.229, 0.224, 0.225), np.float32).reshape(1, 3, 1, 1)
# Greatest and mean difference in levels, as in gpu_loader_test: rounding of
# floats; and where the CPU rounds to bytes between steps.
EQUAL = (0.02, 0.01)
ROUNDED = (8.0, 1.5)
# Engines do not smooth colors between pixels.
ENGINES = (255.0, 6.0)


def write_images(folder):
    """Folders of two classes."""
    program = next(
        path
        for path in (
            cases.ROOT / "bin/write_synthetic",
            cases.ROOT / "bazel-bin/lib/media/write_synthetic",
        )
        if path.exists()
    )
    everything = folder / "all"
    cases.subprocess.run(
        [program, f"--folder={everything}", f"--n={IMAGES}"],
        check=True,
        stderr=cases.subprocess.DEVNULL,
    )
    for number, path in enumerate(sorted(everything.iterdir())):
        kind = folder / "train" / f"class{number % 2}"
        kind.mkdir(parents=True, exist_ok=True)
        path.rename(kind / path.name)
    shutil.rmtree(everything)
    return folder / "train"


class GpuCase(cases.Case):
    def setUp(self):
        super().setUp()
        self.source = write_images(self.folder)

    def loader(self, **arguments):
        """On the GPU, with pixels that are the same in each run."""
        given = {
            "batch_size": 8,
            "crop": 160,
            "flip": True,
            "shuffle": True,
            "seed": 3,
            "workers": 3,
            "return_index": True,
            "device": "cuda",
            **arguments,
        }
        if given["device"] != "cpu":
            given = {"nvjpeg": "off", **given}
        source = given.pop("source", self.source)
        loader = cases.feedrate.Loader(source, **given)
        self.addCleanup(loader.close)
        return loader

    def host(self, loader):
        """[(images, labels, items)] of an epoch, copied to the host."""
        return [
            (images.cpu().numpy(), labels.cpu().numpy(), items.tolist())
            for images, labels, items in loader
        ]

    def items(self, loader):
        return [item for *_, items in loader for item in items.tolist()]

    def assert_close(self, ours, theirs, allowed, what=""):
        self.assertEqual(len(ours), len(theirs), what)
        greatest = mean = 0.0
        for (images, labels, items), (wanted, classes, numbers) in zip(
            ours, theirs, strict=True
        ):
            self.assertEqual(items, numbers, what)
            np.testing.assert_array_equal(labels, classes, what)
            self.assertEqual(images.shape, wanted.shape, what)
            levels = np.abs(images - wanted) * STD * 255
            greatest = max(greatest, levels.max())
            mean = max(mean, levels.mean())
        if greatest > 0.01:
            print(
                f"{self.id()} {what}: levels of difference: greatest"
                f" {greatest:.2f}, mean {mean:.3f}",
                file=sys.stderr,
            )
        self.assertLessEqual(greatest, allowed[0], what)
        self.assertLessEqual(mean, allowed[1], what)


class SameAsTheCpuTest(GpuCase):
    def test_order_labels_draws_and_pixels(self):
        recipes = {
            "crop": ({}, EQUAL),
            "center": ({"crop_position": "center", "flip": False}, EQUAL),
            "one mean": ({"mean": 0.5, "std": 0.25}, EQUAL),
            "larger than the image": ({"crop": 700}, EQUAL),
            "Mixup": ({"transforms": "Mixup"}, EQUAL),
            "CutMix": ({"transforms": ["CutMix"]}, EQUAL),
            "Solarize": ({"transforms": [("Solarize", 0.3)]}, EQUAL),
            "RandomResizedCrop": (
                {"transforms": ["RandomResizedCrop", "Mixup"]},
                ROUNDED,
            ),
            "ThreeAugment": ({"transforms": "ThreeAugment"}, ROUNDED),
        }
        for name, (arguments, allowed) in recipes.items():
            with self.subTest(name):
                gpu = self.loader(**arguments)
                cpu = self.loader(device="cpu", **arguments)
                for _ in range(2):
                    self.assert_close(
                        self.host(gpu), self.host(cpu), allowed, name
                    )

    def test_engines_decode_nearly_the_same(self):
        self.assert_close(
            self.host(self.loader(nvjpeg="auto")),
            self.host(self.loader(device="cpu")),
            ENGINES,
        )

    def test_shards(self):
        shards = self.folder / "shards"
        shards.mkdir()
        files = sorted(self.source.rglob("*.jpg"))
        with cases.tarfile.open(shards / "train-000.tar", "w") as tar:
            for number, path in enumerate(files):
                tar.add(path, f"{number:03}.jpg")
        arguments = {"source": shards, "labels": range(IMAGES)}
        self.assert_close(
            self.host(self.loader(**arguments)),
            self.host(self.loader(device="cpu", **arguments)),
            EQUAL,
        )

    def test_an_index_is_made_and_decodes_the_same(self):
        file = self.folder / "index"
        for arguments in ({}, {"transforms": ["CutMix"]}, {"crop": 32}):
            gpu = self.loader(nvjpeg="auto", index=str(file), **arguments)
            cpu = self.loader(device="cpu", **arguments)
            # The first epoch of the first makes the index.
            for _ in range(2):
                self.assert_close(self.host(gpu), self.host(cpu), EQUAL)
        self.assertGreater(file.stat().st_size, 1000)
        made = file.read_bytes()
        indexed = self.loader(device="cpu", index=str(file))
        list(indexed)
        self.assertEqual(file.read_bytes(), made)
        with self.assertRaisesRegex(ValueError, "nvjpeg"):
            self.loader(nvjpeg="hardware", index=str(file))

    def test_a_broken_file_is_replaced_with_its_label(self):
        broken = sorted(self.source.rglob("*.jpg"))[5]
        broken.write_bytes(broken.read_bytes()[:200])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gpu, cpu = self.loader(), self.loader(device="cpu")
            self.assert_close(self.host(gpu), self.host(cpu), EQUAL)
        self.assertEqual((gpu.skipped, cpu.skipped), (1, 1))
        fails = self.loader(on_error="fail")
        with self.assertRaisesRegex(RuntimeError, broken.name):
            list(fails)

    def test_bytes_and_channels_last(self):
        recipes = {
            # The last of a row of pixels is not a whole group of four.
            "crop": ({"crop": 75}, 0, 0.0),
            "padded": ({"crop": 700}, 0, 0.0),
            "Solarize": ({"transforms": "Solarize"}, 0, 0.0),
            "ThreeAugment": ({"transforms": "ThreeAugment"}, *ROUNDED),
        }
        for name, (arguments, greatest, mean) in recipes.items():
            for dtype, last in (
                ("uint8", False),
                ("uint8", True),
                ("float32", True),
            ):
                what = f"{name} {dtype} {last}"
                given = {**arguments, "dtype": dtype, "channels_last": last}
                gpu = self.loader(**given)
                cpu = self.loader(device="cpu", **given)
                for ours, theirs in zip(gpu, cpu, strict=True):
                    images = ours[0]
                    self.assertEqual(images.dtype, theirs[0].dtype, what)
                    self.assertEqual(images.stride(), theirs[0].stride(), what)
                    self.assertTrue(torch.equal(ours[2], theirs[2]), what)
                    wanted = theirs[0].to(images.device).float()
                    levels = (images.float() - wanted).abs()
                    if dtype == "float32":
                        levels *= torch.tensor(STD * 255, device=levels.device)
                    # Floats differ by their rounding.
                    rounding = EQUAL[0] if dtype == "float32" else 0
                    self.assertLessEqual(
                        float(levels.max()), greatest + rounding, what
                    )
                    self.assertLessEqual(
                        float(levels.mean()), mean + rounding, what
                    )
        passed_on = self.loader(
            output="dlpack", dtype="uint8", channels_last=True
        )
        images, *_ = next(iter(passed_on))
        self.assertEqual(images.shape, (8, 160, 160, 3))
        self.assertEqual(torch.from_dlpack(images).dtype, torch.uint8)
        with self.assertRaisesRegex(ValueError, "mixing needs float32"):
            self.loader(dtype="uint8", transforms="Mixup")


class OrderTest(GpuCase):
    def test_each_item_once_per_epoch_over_ranks_and_tails(self):
        for world in (1, 2, 3):
            for nvjpeg in ("off", "auto"):
                loaders = [
                    self.loader(rank=r, world_size=world, nvjpeg=nvjpeg)
                    for r in range(world)
                ]
                for _ in range(2):
                    seen = [i for one in loaders for i in self.items(one)]
                    self.assertEqual(sorted(seen), list(range(IMAGES)))
        # 43 items: two ranks of 21 and 22 in batches of 7 split the last.
        for tail in ("keep", "pad", "drop"):
            arguments = {
                "batch_size": 7,
                "world_size": 2,
                "tail": tail,
                "transforms": "Mixup",
            }
            for rank in range(2):
                gpu = self.loader(rank=rank, **arguments)
                cpu = self.loader(rank=rank, device="cpu", **arguments)
                self.assertEqual(len(gpu), len(cpu))
                self.assert_close(self.host(gpu), self.host(cpu), EQUAL, tail)

    def test_two_epochs_differ_and_two_runs_are_equal(self):
        first, second = self.loader(), self.loader(workers=1)
        epochs = [self.host(first), self.host(first)]
        for ours in epochs:
            for (a, b, c), (x, y, z) in zip(
                ours, self.host(second), strict=True
            ):
                np.testing.assert_array_equal(a, x)
                np.testing.assert_array_equal(b, y)
                self.assertEqual(c, z)
        orders = [[items for *_, items in epoch] for epoch in epochs]
        self.assertNotEqual(*orders)

    def test_resumes_in_the_middle_of_an_epoch(self):
        whole = self.loader()
        next_epoch = [self.host(whole), self.host(whole)][1]
        loader = self.loader()
        list(loader)
        for step, _ in enumerate(loader):
            if step == 2:
                break
        state = loader.state_dict()
        again = self.loader(workers=1)
        again.load_state_dict(state)
        self.assert_close(self.host(again), next_epoch[3:], (0, 0))
        # And with other batches, and on the CPU.
        for device in ("cuda", "cpu"):
            other = self.loader(batch_size=5, device=device)
            other.load_state_dict(state)
            wanted = [i for *_, items in next_epoch[3:] for i in items]
            self.assertEqual(self.items(other), wanted)


class MemoryTest(GpuCase):
    def test_tensors(self):
        images, labels, items = next(iter(self.loader()))
        self.assertEqual(images.device, torch.device("cuda", 0))
        self.assertEqual(labels.device, images.device)
        self.assertEqual(items.device.type, "cpu")
        self.assertEqual(images.shape, (8, 3, 160, 160))
        self.assertEqual(
            (images.dtype, labels.dtype), (torch.float32, torch.int64)
        )
        self.assertTrue(images.is_contiguous())

    def test_batches_stay_as_they_are(self):
        loader, other = self.loader(), self.loader()
        kept = [batch for _ in range(3) for batch in loader]
        self.assertEqual(
            len({images.data_ptr() for images, *_ in kept}), len(kept)
        )
        wanted = [batch for _ in range(3) for batch in self.host(other)]
        for (images, *_), (pixels, *_) in zip(kept, wanted, strict=True):
            np.testing.assert_array_equal(images.cpu().numpy(), pixels)
        part = kept[0][0][1:3]
        loader.close()
        del loader, kept, images
        gc.collect()
        np.testing.assert_array_equal(part.cpu().numpy(), wanted[0][0][1:3])

    def test_dlpack_passes_the_memory_on(self):
        loader = self.loader(output="dlpack")
        wanted = self.host(self.loader())
        for (images, labels, _), (pixels, classes, _) in zip(
            loader, wanted, strict=True
        ):
            self.assertEqual(images.__dlpack_device__(), (2, 0))
            self.assertEqual(images.shape, pixels.shape)
            np.testing.assert_array_equal(labels, classes)
            unused = images.__dlpack__()
            first = torch.from_dlpack(images)
            second = torch.from_dlpack(images)
            self.assertEqual(first.data_ptr(), second.data_ptr())
            del images, unused, first
            gc.collect()
            np.testing.assert_array_equal(second.cpu().numpy(), pixels)
        with self.assertRaisesRegex(ValueError, "ambiguous"):
            next(iter(loader))[0].__dlpack__(stream=0)

    def test_memory_waits_for_the_stream_that_used_it(self):
        """The stream sleeps before it reads; Python has long given the batch
        back, and the loader has made many others."""
        wanted = [
            float(pixels.astype(np.float64).sum())
            for pixels, *_ in self.host(self.loader())
        ]
        for side in (torch.cuda.default_stream(), torch.cuda.Stream()):
            loader = self.loader()
            found = []
            with torch.cuda.stream(side):
                for _ in range(4):
                    loader.set_epoch(0)
                    for images, *_ in loader:
                        torch.cuda._sleep(40_000_000)  # About 20 ms.
                        found.append(images.double().sum())
                        del images
            side.synchronize()
            for ours, theirs in zip(found, 4 * wanted, strict=True):
                self.assertAlmostEqual(float(ours), theirs, delta=0.5)

    def test_memory_is_used_again(self):
        loader = self.loader()
        for _ in range(3):
            list(loader)
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0]
        for _ in range(20):
            for images, *_ in loader:
                images.mul_(2)
        torch.cuda.synchronize()
        batch = 8 * 3 * 160 * 160 * 4
        taken = before - torch.cuda.mem_get_info()[0]
        self.assertLess(taken, 16 * batch + (64 << 20))

    def test_ends_early_and_at_any_time(self):
        for _ in range(5):
            loader = self.loader(nvjpeg="auto")
            images, *_ = next(iter(loader))
            loader.close()
            self.assertTrue(torch.isfinite(images).all())
            with self.assertRaisesRegex(RuntimeError, "closed"):
                iter(loader)


class CopyTest(cases.Case):
    """Batches in host memory, whose copies to the GPU wait for a busy stream:
    Python has dropped each batch long before the copy reads it."""

    BATCHES = 1000

    def wrong_batches(self, loader, stream, to_tensor, first):
        """(wrong batches, batches, places in memory), of the samples from
        `first` on."""
        found, places = [], set()
        with torch.cuda.stream(stream):
            while len(found) < self.BATCHES:
                for images, _, items in loader:
                    tensor = to_tensor(images)[first:]
                    places.add(tensor.data_ptr())
                    torch.cuda._sleep(2_000_000)  # About 1 ms.
                    copy = tensor.to("cuda", non_blocking=True)
                    found.append((copy, [int(i) for i in items[first:]]))
                    del images, tensor, copy
                    # So that memory is used again, by copies that wait too.
                    if len(found) % 50 == 0:
                        stream.synchronize()
        stream.synchronize()
        wrong = 0
        for copy, items in found:
            wanted = torch.tensor(items, device="cuda").view(-1, 1, 1)
            wrong += not bool((copy[:, 0].round() == wanted).all())
        return wrong, len(found), len(places)

    def check(self, name, stream=None, first=0, **arguments):
        to_tensor = {
            "numpy": torch.from_numpy,
            "dlpack": torch.from_dlpack,
        }.get(arguments.get("output"), lambda images: images)
        given = {"output": "torch", "mean": 0, "std": 1 / 255, **arguments}
        source = np.stack([cases.image(i, 180, 200) for i in range(250)])
        loader = self.loader(
            source, shuffle=True, return_index=True, crop=160, **given
        )
        stream = stream or torch.cuda.default_stream()
        wrong, batches, places = self.wrong_batches(
            loader, stream, to_tensor, first
        )
        print(
            f"{name}: {batches} batches, {wrong} wrong, in {places} places",
            file=sys.stderr,
        )
        self.assertEqual(wrong, 0, name)
        self.assertLess(places, batches, name)

    def test_pinned(self):
        self.check("pinned", pin_memory=True)

    def test_pinned_floats_on_another_stream(self):
        self.check(
            "pinned floats, a stream of its own",
            torch.cuda.Stream(),
            pin_memory=True,
            dtype="float32",
        )

    def test_pinned_channels_last(self):
        self.check("pinned, channels last", pin_memory=True, channels_last=True)

    def test_not_pinned(self):
        for output in ("torch", "numpy", "dlpack"):
            self.check(f"not pinned, {output}", output=output)

    def test_a_part_of_a_pinned_batch(self):
        """Its address is not that of the block; its storage is."""
        self.check("pinned, a part", torch.cuda.Stream(), 1, pin_memory=True)


def tell_speed():
    """Images/s of decoded images into batches, and to the GPU."""
    source = cases.noisy(2048, height=256, width=256)
    rates = {False: [], True: []}
    loaders = {
        pin: cases.feedrate.Loader(
            source, batch_size=256, flip=True, pin_memory=pin
        )
        for pin in rates
    }
    for _ in range(11):
        for pin, loader in loaders.items():
            begin = time.monotonic()
            for images, _ in loader:
                images.to("cuda", non_blocking=True)
            torch.cuda.synchronize()
            rates[pin].append(len(source) / (time.monotonic() - begin))
    for pin, found in rates.items():
        # Without the first epoch, in which memory is made.
        print(f"pin_memory={pin}: {np.median(found[1:]):,.0f} images/s")


class ErrorsTest(GpuCase):
    def test_no_such_gpu(self):
        with self.assertRaisesRegex(ValueError, "cuda:99"):
            self.loader(device="cuda:99")

    def test_what_a_launch_does_not_do(self):
        with self.assertRaisesRegex(ValueError, "Rotate"):
            self.loader(transforms="Rotate")


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("no GPU here: feedrate.Loader on a GPU is not checked")
        sys.exit(0)
    if sys.argv[1:] == ["speed"]:
        tell_speed()
        sys.exit(0)
    unittest.main(verbosity=2)
