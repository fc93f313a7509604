"""feedrate.Loader with numpy: sources, labels, order, memory, bad files."""

import contextlib
import itertools
import os
import pathlib
import pickle
import signal
import threading
import time
import unittest
import urllib.request
import warnings

import cases  # Puts feedrate on the path.
import feedrate
import numpy as np

EVERY = list(range(100))


class OrderTest(cases.Case):
    def test_every_item_comes_once_per_epoch(self):
        loader = self.loader(self.array(), shuffle=True)
        orders = [self.numbers(loader) for _ in range(3)]
        for order in orders:
            self.assertEqual(sorted(order), EVERY)
        self.assertEqual(len(set(map(tuple, [*orders, EVERY]))), 4)
        again = self.loader(self.array(), shuffle=True)
        again.set_epoch(2)
        self.assertEqual(self.numbers(again), orders[2])
        other = self.loader(self.array(), shuffle=True, seed=1)
        self.assertNotEqual(self.numbers(other), orders[0])
        plain = self.loader(self.array())
        self.assertEqual(self.numbers(plain), EVERY)

    def test_every_item_comes_once_over_all_ranks(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        for world in (1, 2, 3, 7, 101):
            loaders = [
                self.loader(
                    self.array(), shuffle=True, rank=rank, world_size=world
                )
                for rank in range(world)
            ]
            for _ in range(2):
                found = [n for one in loaders for n in self.numbers(one)]
                self.assertEqual(sorted(found), EVERY, world)

    def test_ranks_with_fewer_batches_are_told(self):
        for count, world, tail, told in (
            (2, 3, "keep", True),  # The last rank has none.
            (2, 3, "pad", False),
            (97, 3, "keep", False),
            (96, 3, "keep", False),
            (102, 4, "keep", False),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.loader(
                    self.array(count), rank=1, world_size=world, tail=tail
                )
            self.assertEqual(len(caught), told)
            self.assertTrue(all("hang" in str(c.message) for c in caught))

    def test_ranks_split_a_batch_to_have_as_many(self):
        """33, 32 and 32 items; and each state continues at the same item."""
        found, states = [], []
        for rank in range(3):
            loader = self.loader(
                self.array(97), shuffle=True, rank=rank, world_size=3
            )
            self.assertEqual(len(loader), 5)
            batches = []
            for images, _ in loader:
                batches.append(cases.ids(images))
                if len(batches) == 4:
                    states.append(loader.state_dict())
            last = 8 if rank == 0 else 7
            self.assertEqual(list(map(len, batches)), [8, 8, 8, last, 1])
            found += itertools.chain(*batches)
        self.assertEqual(sorted(found), list(range(97)))
        self.assertEqual([state["position"] for state in states], [94] * 3)
        again = self.loader(self.array(97), shuffle=True)
        again.load_state_dict(states[1])
        rest = [found[32], found[64], found[96]]
        self.assertEqual(sorted(self.numbers(again)), sorted(rest))

    def test_ranks_have_the_same_batches_when_padded_or_cut(self):
        for tail, sizes in (("pad", [8, 8, 8, 8, 2]), ("drop", [8] * 4)):
            found = []
            for rank in range(3):
                loader = self.loader(
                    self.array(),
                    shuffle=True,
                    rank=rank,
                    world_size=3,
                    tail=tail,
                )
                batches = [cases.ids(images) for images, _ in loader]
                self.assertEqual([len(batch) for batch in batches], sizes)
                self.assertEqual(len(loader), len(sizes))
                found += itertools.chain(*batches)
            self.assertEqual(len(set(found)), 100 if tail == "pad" else 96)
        dropped = self.loader(self.array(), drop_last=True)
        self.assertEqual([len(i) for i, _ in dropped], [8] * 12)
        with self.assertWarnsRegex(RuntimeWarning, "an epoch has no batch"):
            self.loader(self.array(7), drop_last=True)

    def test_the_number_of_workers_changes_nothing(self):
        source = cases.noisy(30)
        wanted = None
        for workers in (0, 1, 2, 5):
            loader = self.loader(
                source,
                workers=workers,
                shuffle=True,
                flip=True,
                dtype="float32",
                transforms=[("GaussianNoise", 0.5), ["Solarize", "Blur"]],
            )
            found = [images.copy() for images, _ in loader]
            wanted = wanted or found
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other)
        changed = next(iter(self.loader(source, seed=1, dtype="float32")))[0]
        self.assertFalse((changed == wanted[0]).all())

    def test_draws_depend_on_seed_epoch_and_item_alone(self):
        """The same crops in another order, batch size and world."""
        source = cases.noisy(30)

        def crops(**arguments):
            loader = self.loader(source, return_index=True, **arguments)
            return {
                index: pixels.tobytes()
                for images, _, indexes in loader
                for index, pixels in zip(indexes, images, strict=True)
            }

        wanted = crops(flip=True)
        self.assertEqual(crops(flip=True, shuffle=True, batch_size=7), wanted)
        half = crops(flip=True, rank=1, world_size=2)
        self.assertEqual(half, {n: wanted[n] for n in range(1, 30, 2)})


class SourceTest(cases.Case):
    def setUp(self):
        super().setUp()
        self.images = self.folder / "images"
        for i in range(30):
            cases.write(
                self.images / f"c{i % 3}" / f"{i:02}.npy", cases.image(i)
            )

    def check(self, loader, label=lambda i: i % 3):
        found = {}
        for images, labels in loader:
            numbers = cases.ids(images)
            found.update(zip(numbers, labels.tolist(), strict=True))
        self.assertEqual(found, {i: label(i) for i in range(30)})

    def test_labels_are_the_numbers_of_folders(self):
        loader = self.loader(self.images, shuffle=True)
        self.check(loader)
        self.assertEqual(loader.classes, ["c0", "c1", "c2"])
        self.check(self.loader(f"{self.images}/"))
        self.check(self.loader(sorted(self.images.rglob("*.npy"))))
        flat = self.folder / "flat"
        cases.write(flat / "a.npy", cases.image(0))
        self.assertEqual(list(self.loader(flat).labels), [-1])

    def test_labels_are_a_list_or_a_function(self):
        numbers = [
            int(pathlib.Path(n).stem) for n in self.loader(self.images).names
        ]
        self.check(
            self.loader(self.images, labels=[5 * n for n in numbers]),
            lambda i: 5 * i,
        )
        self.check(
            self.loader(
                self.images, labels=lambda name: int(pathlib.Path(name).stem)
            ),
            lambda i: i,
        )
        for wrong in (
            [1, 2],
            np.zeros(30),
            np.zeros((30, 1), int),
            np.full(30, 2**63, np.uint64),
        ):
            with self.assertRaisesRegex(ValueError, "labels: .* 30 integers"):
                self.loader(self.images, labels=wrong)

    def test_shards(self):
        shards = self.folder / "shards"
        cases.write_shards(shards, 30, 3, lambda i: i + 4)
        for source in (
            shards,
            f"{shards}/train-{{000..002}}.tar",
            sorted(shards.iterdir()),
        ):
            self.check(self.loader(source, shuffle=True), lambda i: i + 4)
        cases.write_shards(shards, 30, 3, lambda i: "cat" if i == 7 else i)
        with self.assertRaisesRegex(ValueError, "7.npy: .*cls is not a number"):
            self.loader(shards)
        self.check(
            self.loader(shards, labels=lambda n: int(n[-7:-4])), lambda i: i
        )

    def test_stores_with_a_cache(self):
        shards = self.images / "shards"
        cases.write_shards(shards, 30, 3, lambda i: i + 4)
        python = os.environ["STORAGE_PYTHON"]
        os.environ.update(
            AWS_ACCESS_KEY_ID="AKIAIOSFODNN7EXAMPLE",
            AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            CLOUDSDK_AUTH_ACCESS_TOKEN="ya29.good-token",
        )
        cache = {"cache_dir": self.folder / "cache", "cache_bytes": 1 << 20}
        with cases.store(python, self.images) as port:
            endpoint = {"endpoint": f"http://127.0.0.1:{port}"}
            for _ in range(2):
                self.check(self.loader("s3://data/", **endpoint, **cache))
            self.check(self.loader("gs://data/", **endpoint, **cache))
            self.check(
                self.loader(
                    f"{endpoint['endpoint']}/web/shards/train-{{000..002}}.tar",
                    connections=4,
                ),
                lambda i: i + 4,
            )
        self.check(self.loader(f"file://{self.images}", **cache))
        self.assertTrue(any(cache["cache_dir"].rglob("*")))

    def test_a_silent_store_holds_nobody(self):
        python = os.environ["STORAGE_PYTHON"]
        cache = {"cache_dir": self.folder / "cache"}
        with cases.store(python, self.images) as port:
            endpoint = f"http://127.0.0.1:{port}"
            arguments = {"endpoint": endpoint, "anonymous": True}

            def answer_after(milliseconds):
                address = f"{endpoint}/_set?delay_ms={milliseconds}"
                urllib.request.urlopen(address).close()

            for more in ({}, cache, {**cache, "workers": 0}):
                answer_after(0)
                loader = self.loader("s3://public/", **arguments, **more)
                answer_after(3600e3)
                with self.interrupted():
                    next(iter(loader))
                begin = time.monotonic()
                loader.close()
                self.assertLess(time.monotonic() - begin, 5)
            with self.interrupted():
                self.loader("s3://public/", **arguments)

    @contextlib.contextmanager
    def interrupted(self):
        """Ctrl-C after half a second ends the block soon."""
        # What a shell starts in the background ignores it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        main = threading.main_thread().ident
        late = threading.Timer(
            0.5, lambda: signal.pthread_kill(main, signal.SIGINT)
        )
        begin = time.monotonic()
        late.start()
        with self.assertRaises(KeyboardInterrupt):
            yield
        # A second more is what it may take; the rest is a busy machine.
        self.assertLess(time.monotonic() - begin, 6)

    def test_recipes_by_name_and_as_lists(self):
        source = cases.noisy(20)
        for transforms in (
            "ThreeAugment",
            "RandomResizedCrop",
            [
                "RandomResizedCrop",
                ("HorizontalFlip", 0.5),
                ["Blur", "Solarize"],
            ],
            ["CenterCrop224", (["Blur", "Solarize"], 0.3)],
        ):
            loader = self.loader(source, transforms=transforms)
            for images, _ in loader:
                self.assertEqual(images.shape[1:], (3, 16, 16))
        inverted = next(iter(self.loader(source, transforms="Invert")))[0]
        plain = next(iter(self.loader(source)))[0]
        np.testing.assert_array_equal(inverted, 255 - plain)

    def test_mixing_gives_shares_of_labels(self):
        source = np.stack([cases.image(i) for i in range(10)])
        for name in ("Mixup", "CutMix"):
            loader = self.loader(
                source,
                batch_size=10,
                transforms=name,
                labels=list(range(10)),
                dtype="float32",
                mean=0,
                std=1,
            )
            images, labels = next(iter(loader))
            np.testing.assert_allclose(labels.sum(axis=1), 1, rtol=1e-5)
            numbers = images[:, 0].mean(axis=(1, 2)) * 255
            np.testing.assert_allclose(labels @ range(10), numbers, atol=1e-3)
            self.assertGreater((labels > 0).sum(), 10)

    def test_rectangular_crops(self):
        """The middle; the whole, padded; and with a crop that resizes."""
        source = cases.noisy(8, height=40, width=48)
        for last in (False, True):
            (images, _), *_ = self.loader(
                source,
                crop=(10, 30),
                crop_position="center",
                channels_last=last,
                workers=None,
                num_workers=1,
                dtype=np.uint8,
            )
            if not last:
                images = images.transpose(0, 2, 3, 1)
            np.testing.assert_array_equal(images, source[:, 15:25, 9:39])
        (images, _), *_ = self.loader(source, crop=np.array([44, 50]))
        self.assertEqual(images.shape, (8, 3, 44, 50))
        (images, _), *_ = self.loader(
            source, crop=(20, 12), flip=True, transforms=["RandomResizedCrop"]
        )
        self.assertEqual(images.shape, (8, 3, 20, 12))
        loader = self.loader(
            source, crop=(20, 12), transforms=[("Transpose", 0.5)]
        )
        with self.assertRaisesRegex(RuntimeError, "a transform turns it to"):
            list(loader)
        loader.close()

    def test_layouts_have_the_same_values(self):
        source = cases.noisy(8)
        arguments = {"flip": True, "mean": 0.5, "std": 0.25}
        (first, _), *_ = self.loader(source, **arguments)
        (last, _), *_ = self.loader(source, channels_last=True, **arguments)
        (floats, _), *_ = self.loader(source, dtype="float32", **arguments)
        self.assertEqual(first.shape, (8, 3, 16, 16))
        self.assertEqual(last.shape, (8, 16, 16, 3))
        np.testing.assert_array_equal(first, last.transpose(0, 3, 1, 2))
        np.testing.assert_allclose(
            floats, (first / 255 - 0.5) / 0.25, atol=1e-5
        )

    def test_other_channels(self):
        source = np.random.default_rng(1).integers(
            0, 256, (5, 20, 20, 4), dtype=np.uint8
        )
        (images, _), *_ = self.loader(source, crop=20)
        np.testing.assert_array_equal(images, source.transpose(0, 3, 1, 2))


class MemoryTest(cases.Case):
    def test_kept_batches_stay_as_they_are(self):
        loader = self.loader(self.array(), shuffle=True)
        kept = [images for images, _ in loader]
        copies = [images.copy() for images in kept]
        for _ in loader:
            pass
        loader.close()
        for one, other in zip(kept, copies, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_memory_is_used_again(self):
        loader = self.loader(self.array(1000))
        places = {images.ctypes.data for images, _ in loader}
        self.assertLess(len(places), 8)

    def test_dlpack_and_views_share_the_memory(self):
        loader = self.loader(self.array())
        batches = iter(loader)
        shared = np.from_dlpack(next(batches)[0])
        part = next(batches)[0][3:5]
        for _ in batches:  # Would overwrite them.
            pass
        self.assertEqual(cases.ids(shared), EVERY[:8])
        self.assertEqual(cases.ids(part), [11, 12])
        images = next(iter(loader))[0]
        self.assertEqual(np.from_dlpack(images).ctypes.data, images.ctypes.data)

    def test_other_threads_run_while_it_works(self):
        """With the lock held, the counter would stand still in each call."""
        source = cases.noisy(64, height=400, width=400)
        loader = self.loader(source, workers=0, crop=380, transforms="Blur")
        count, ended = [0], threading.Event()

        def run():
            while not ended.is_set():
                count[0] += 1

        thread = threading.Thread(target=run)
        thread.start()
        batches = iter(loader)
        moved = 0
        for _ in range(len(loader)):
            before = count[0]
            batch = feedrate._library.Batch()
            code = loader._library.feedrate_next(loader._handle, 1, batch)
            moved += count[0] > before
            self.assertEqual(code, 0)
            loader._library.feedrate_release(batch.keep)
        ended.set()
        thread.join()
        self.assertGreater(moved, 0)
        del batches

    def test_pinned_memory_is_not_used_again(self):
        """Only who made it knows when no copy reads it: here, one that never
        ends."""
        from feedrate import loader as module

        made = {}

        class Pinned(module.Loader):
            def _make_block(self, pin_memory):
                self._pins = False
                return self.make

            def make(self, size):
                block = np.empty(size, np.uint8)
                made[block.ctypes.data] = block
                return block, block.ctypes.data

        for dtype, last in (("uint8", False), ("float32", True)):
            arguments = {"crop": 16, "mean": 0, "std": 1 / 255}
            arguments |= {"dtype": dtype, "channels_last": last}
            loader = Pinned(
                self.array(), batch_size=8, output="numpy", **arguments
            )
            read = []
            for _ in range(3):
                for images, _ in loader:
                    self.assertEqual(images.dtype, dtype)
                    read.append((images.ctypes.data, images.shape))
                    del images
            loader.close()
            self.assertEqual(len(set(read)), 3 * 13)
            found = []
            for address, shape in read:
                pixels = made[address].view(dtype)[: np.prod(shape)]
                pixels = pixels.reshape(shape)
                found += cases.ids(
                    pixels.transpose(0, 3, 1, 2).round() if last else pixels
                )
            self.assertEqual(found, 3 * EVERY)
        with self.assertRaisesRegex(ValueError, 'pin_memory=True .*"torch"'):
            self.loader(self.array(), pin_memory=True)


class FaultTest(cases.Case):
    def setUp(self):
        super().setUp()
        for i in range(30):
            cases.write(self.folder / f"{i:02}.npy", cases.image(i))
        (self.folder / "05.npy").write_bytes(b"no array")

    def test_skips_and_tells(self):
        loader = self.loader(self.folder)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            numbers = self.numbers(loader)
        self.assertEqual(numbers[4:7], [4, 6, 6])
        self.assertEqual(loader.skipped, 1)
        self.assertEqual(len(told), 1)
        self.assertRegex(str(told[0].message), r"1 image .*05\.npy: ")
        # Each epoch tells, also one that is broken off; it is one image.
        (self.folder / "07.npy").write_bytes(b"no array")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            next(iter(loader))
            list(loader)
        self.assertEqual(loader.skipped, 2)
        self.assertEqual(len(told), 2)
        self.assertRegex(str(told[1].message), r"2 images .*05\.npy: ")

    def test_names_are_no_commands_for_a_terminal(self):
        bad = self.folder / "05\x1b[2J\n.npy"
        (self.folder / "05.npy").rename(bad)
        loader = self.loader(self.folder)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            list(loader)
        fails = self.loader(self.folder, on_error="fail")
        with self.assertRaises(RuntimeError) as raised:
            list(fails)
        for text in (str(told[0].message), str(raised.exception)):
            self.assertIn("05\\x1b[2J\\n.npy: ", text)
            self.assertTrue(text.isprintable(), text)
        self.assertIn(str(bad), loader.names)

    def test_fails_with_the_name(self):
        loader = self.loader(self.folder, on_error="fail")
        with self.assertRaisesRegex(RuntimeError, r"05\.npy: "):
            self.numbers(loader)

    def test_a_fork_is_told(self):
        loader = self.loader(self.array())
        batches = iter(loader)
        kept = next(batches)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                next(batches)
            except RuntimeError as error:
                code = 0 if "fork" in str(error) else 2
            del kept
            loader.close()
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(list(batches)), 12)

    def test_ends(self):
        with self.loader(self.array()) as loader:
            first = iter(loader)
            next(first)
            second = iter(loader)
            with self.assertRaisesRegex(RuntimeError, "later loop"):
                next(first)
            self.assertEqual(len(next(second)[0]), 8)
            with self.assertRaisesRegex(TypeError, "pickled"):
                pickle.dumps(loader)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            iter(loader)
        loader.close()


if __name__ == "__main__":
    unittest.main()
