"""DALI's loader: files, epochs, faults.

    <environment>/bin/python -m library_tests.loader_dali_test

dev/checks/python_loader_test.sh runs it.
"""

import os
import pathlib
import signal
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
from loaders import dali
from nvidia.dali import Pipeline, fn, pipeline_def
from testing import loading, pictures, worker
from testing.cells import cells_of, photograph
from testing.textproto import all_of, one_of
from testing.transforms import transforms_of

CONFIGS = pathlib.Path(__file__).parents[4] / "configs"
SIZES = [(230, 275), (250, 240), (300, 226), (226, 300), (231, 233)]


class CountedRuns:
    """A graph of DALI's that counts how often it runs."""

    def __init__(self, depth):
        self.runs = 0
        self.graph = Pipeline(
            batch_size=4,
            num_threads=1,
            device_id=None,
            prefetch_queue_depth=depth,
        )
        with self.graph:
            self.graph.set_outputs(
                fn.external_source(source=self._batch, batch=True)
            )
        self.graph.build()

    def _batch(self):
        self.runs += 1
        return np.zeros((4, 2, 2), np.float32)


class DaliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = worker.Server(["dali"], flags=["--loader"])
        cls.folder = tempfile.TemporaryDirectory()
        cls.images = [photograph(*size, i) for i, size in enumerate(SIZES)]
        cls.arrays, cls.pictures = [], []
        for i, image in enumerate(cls.images):
            stem = pathlib.Path(cls.folder.name) / str(i)
            cls.arrays.append(stem.with_suffix(".npy"))
            np.save(cls.arrays[-1], image)
            cls.pictures.append(stem.with_suffix(".png"))
            cls.pictures[-1].write_bytes(pictures.png(image))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        cls.server.close()

    def prepare(self, fd, loader):
        child = self.server.spawn("dali", fd)
        os.close(fd)
        reply = child.ask(
            {
                "op": "prepare",
                "library": "dali",
                "native_op": "flip",
                "params": ["horizontal=1"],
                "device": "cpu",
                "loader": loader,
            }
        )
        return child, reply

    def child(self, paths=None, **changes):
        if paths is None:
            fd = worker.write_corpus(self.images)
            loader = loading.loader_object(**changes)
        else:
            fd = loading.write_list(paths)
            loader = loading.of_files(**changes)
        child, reply = self.prepare(fd, loader)
        self.assertNotIn("error", reply)
        return child

    def check_outputs(self, child):
        outputs = child.outputs(range(len(self.images)))
        for (output, _), image in zip(outputs, self.images, strict=True):
            wanted = loading.flipped_center(image)
            np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)

    def test_memory_and_files(self):
        for paths in (None, self.arrays, self.pictures):
            child = self.child(paths, crop_position="center")
            self.check_outputs(child)
            for first in (0, 0, 3):
                reply = child.ask(loading.epoch(7, first=first))
                self.assertEqual((reply["items"], reply["batches"]), (7, 2))
                self.assertEqual(reply["bytes_out"], 7 * 3 * 224 * 224 * 4)
                self.assertEqual(len(reply["samples_s"]), 2)
                self.assertGreater(reply["cpu_s"], 0)
            child.close()

    def test_images_smaller_than_the_crop(self):
        image = photograph(200, 240, 1)
        path = pathlib.Path(self.folder.name) / "small.png"
        path.write_bytes(pictures.png(image))
        child = self.child([path], crop_position="center")
        ((output, _),) = child.outputs([0])
        wanted = loading.flipped_center(image)
        np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)
        child.close()

    def test_decode_then_crop(self):
        child = self.child(
            self.pictures,
            crop_position="center",
            settings={"fused_decode": "false"},
        )
        self.check_outputs(child)
        child.close()

    def test_no_run_is_left_for_the_next_epoch(self):
        recipe = types.SimpleNamespace(is_clip=False, starts_with_crop=False)
        spec = types.SimpleNamespace(
            ablation="", shuffle=False, settings={}, device="cpu", prefetch=3
        )
        source = types.SimpleNamespace(decodes=False)
        loader = dali.Loader(source, recipe, spec, {})
        for counts, kept in (([4] * 5, True), ([4] * 3, True), ([4], False)):
            counted = CountedRuns(depth=3)
            loader._pipeline = counted.graph
            loader._counts, loader._is_new = counts, True
            for number in range(2 if kept else 1):
                batches = list(loader.start())
                self.assertEqual([b.items for b in batches], counts)
                loader.stop()
                if kept:
                    self.assertEqual(counted.runs, (number + 1) * len(counts))
            self.assertEqual(loader._pipeline is not None, kept)

    def test_the_last_batch_may_be_dropped(self):
        child = self.child(drop_last=True)
        reply = child.ask(loading.epoch(7))
        self.assertEqual((reply["items"], reply["batches"]), (4, 1))
        child.close()

    def test_the_limit_stops_early_and_the_next_epoch_is_whole(self):
        child = self.child()
        reply = child.ask(loading.epoch(100000, limit_s=0.2))
        self.assertLess(reply["items"], 100000)
        self.assertEqual(child.ask(loading.epoch(9))["items"], 9)
        child.close()

    def test_a_corrupt_file_ends_the_epoch(self):
        bad = pathlib.Path(self.folder.name) / "bad.jpg"
        bad.write_bytes(b"\xff\xd8\xff\xe0 no picture")
        child = self.child([*self.pictures, bad])
        self.assertIn("bad.jpg", child.ask(loading.epoch(6))["error"])
        self.assertEqual(child.ask(loading.epoch(4))["items"], 4)
        child.close()

    def test_what_it_has_not(self):
        for changes, text in [
            ({"ablation": "no_decode"}, "no_decode"),
            ({"shuffle": True}, "shuffle"),
            ({"settings": {"read_ahead": "threads"}}, "no setting read_ahead"),
        ]:
            fd = worker.write_corpus(self.images)
            child, reply = self.prepare(fd, loading.loader_object(**changes))
            self.assertIn(text, reply["error"])
            child.close()

    def recipe(self, native_op, params, images, count, **changes):
        """`count` batches of a recipe, as arrays."""
        from loaders import spec
        from loaders.recipes import dali as recipes

        command = {"native_op": native_op, "params": params}
        loader = loading.loader_object(crop_position="center", **changes)
        recipe = recipes.Recipe(None, command, spec.parse(loader, "cpu"))

        @pipeline_def(
            batch_size=len(images),
            num_threads=1,
            device_id=None,
            seed=1,
            enable_conditionals=recipe.branches,
        )
        def graph():
            nodes = fn.external_source(
                source=[images], cycle=True, batch=True, layout="HWC"
            )
            return recipe.call(nodes, False)

        pipeline = graph()
        pipeline.build()
        for _ in range(count):
            (batch,) = pipeline.run()
            yield np.array(batch.as_tensor())

    def levels(self, batch):
        """Bytes again."""
        mean = np.array(loading.MEAN)[:, None, None]
        std = np.array(loading.STD)[:, None, None]
        return (batch * std + mean) * 255

    def test_mixup_blends_two_images(self):
        images = [np.full((224, 224, 3), v, np.uint8) for v in (0, 100, 250)]
        shares = []
        for batch in self.recipe(
            "mixup", ["alpha=0.8"], images, 200, batch_transform="mixup"
        ):
            for image, level in zip(images, self.levels(batch), strict=True):
                self.assertLess(np.ptp(level), 0.01)
                shares.append(level.mean() - image[0, 0, 0])
        # On average a batch stays as bright as it was; images do not.
        self.assertLess(abs(np.mean(shares)), 5)
        self.assertGreater(np.std(shares), 20)

    def test_cutmix_puts_a_box_of_another_image_into_each(self):
        images = [np.full((224, 224, 3), v, np.uint8) for v in (0, 100, 250)]
        cut = []
        for batch in self.recipe(
            "cutmix", ["alpha=1.0"], images, 200, batch_transform="cutmix"
        ):
            for image, level in zip(images, self.levels(batch), strict=True):
                other = np.abs(level[0] - image[0, 0, 0]) > 1
                rows, columns = other.any(axis=1), other.any(axis=0)
                # All of the box is the other one.
                self.assertEqual(other.sum(), rows.sum() * columns.sum())
                self.assertLessEqual(len(np.unique(level.round())), 2)
                cut.append(other.mean())
        # A third has itself for a partner. Boxes reach beyond the border.
        self.assertGreater(np.mean(cut), 0.1)
        self.assertLess(np.mean(cut), 0.4)
        self.assertGreater(np.max(cut), 0.8)

    def test_steps_draw_one_of_three_for_each_image(self):
        (cell,) = (
            cell
            for cell in cells_of(
                CONFIGS, "image-rgb", "dali", mode="pipeline", wanted="training"
            )
            if cell.transform == "ThreeAugment"
        )
        # Without the color jitter.
        params = cell.params[:2]
        image = photograph(224, 224, 1)
        kinds = {"gray": 0, "solarized": 0, "blurred": 0}
        flipped = 0
        for batch in self.recipe("steps", params, [image] * 4, 60):
            for level in self.levels(batch).round().transpose(0, 2, 3, 1):
                found = [
                    (kind, flip)
                    for flip in (False, True)
                    for kind in kinds
                    if self.is_kind(
                        kind, level[:, ::-1] if flip else level, image
                    )
                ]
                self.assertEqual(len(found), 1)
                kinds[found[0][0]] += 1
                flipped += found[0][1]
        for count in (*kinds.values(), flipped * 2 / 3):
            self.assertGreater(count, 50)

    def is_kind(self, kind, got, image):
        wanted = image.astype(float)
        if kind == "gray":
            weights = np.array([0.299, 0.587, 0.114])
            wanted = np.repeat((wanted @ weights)[..., None], 3, axis=2)
        elif kind == "solarized":
            wanted = np.where(wanted >= 128, 255 - wanted, wanted)
        else:
            kernel = np.exp(-(np.arange(-2, 3) ** 2) / 8)
            kernel /= kernel.sum()
            for axis in (0, 1):
                widths = [(2, 2) if a == axis else (0, 0) for a in range(3)]
                padded = np.pad(wanted, widths, mode="reflect")
                wanted = sum(
                    weight * np.take(padded, range(k, k + 224), axis)
                    for k, weight in enumerate(kernel)
                )
        return np.abs(got - wanted).mean() < 1

    def test_killed(self):
        child = self.child()
        child.send(loading.epoch(10**6))
        os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(os.WTERMSIG(child.close()["status"]), signal.SIGKILL)


class ClipTest(unittest.TestCase):
    """The graph of clips; NVDEC needs a GPU, so frames come from memory."""

    CLIP = np.stack([photograph(240, 320, i) for i in range(16)])

    def outputs(self, native_op, params, **changes):
        from loaders import spec
        from loaders.recipes import dali
        from nvidia.dali import Pipeline, fn

        command = {
            "scenario": "video-16f",
            "native_op": native_op,
            "params": params,
        }
        loader = loading.of_files(crop_position="center", **changes)
        recipe = dali.Recipe(None, command, spec.parse(loader, "cpu"))
        self.assertTrue(recipe.is_clip)
        pipeline = Pipeline(batch_size=2, num_threads=1, device_id=None, seed=1)
        with pipeline:
            frames = fn.external_source(
                source=[[self.CLIP] * 2], cycle=True, batch=True, layout="FHWC"
            )
            pipeline.set_outputs(recipe.call(frames, False))
        pipeline.build()
        (batch,) = pipeline.run()
        return np.asarray(batch.as_tensor())

    def test_every_frame_is_cropped_flipped_and_normalized(self):
        got = self.outputs("fn.flip", ["horizontal=1"])
        window = self.CLIP[:, 8:232, 48:272][:, :, ::-1]
        mean, std = np.array(loading.MEAN), np.array(loading.STD)
        wanted = ((window / 255 - mean) / std).transpose(0, 3, 1, 2)
        self.assertEqual(got.shape, (2, 16, 3, 224, 224))
        for clip in got:
            np.testing.assert_allclose(clip, wanted, atol=1e-4)

    def test_crops_resizes_and_normalizes(self):
        got = self.outputs("fn.crop", ["crop=(224,224)"], is_crop=True)
        self.assertEqual(got.shape, (2, 16, 3, 224, 224))
        got = self.outputs("fn.resize", ["resize_x=512", "resize_y=512"])
        self.assertEqual(got.shape, (2, 16, 3, 512, 512))
        once = self.outputs("fn.flip", ["horizontal=0"])
        twice = self.outputs(
            "fn.crop_mirror_normalize",
            [
                "dtype=FLOAT",
                "mean=255*(0.485,0.456,0.406)",
                "std=255*(0.229,0.224,0.225)",
            ],
        )
        mean = 255 * np.array(loading.MEAN)[:, None, None]
        std = 255 * np.array(loading.STD)[:, None, None]
        np.testing.assert_allclose(twice, (once - mean) / std, atol=1e-4)

    def test_clips_want_files_and_a_gpu(self):
        server = worker.Server(["dali"], flags=["--loader"])
        self.addCleanup(server.close)
        fd = worker.write_corpus([self.CLIP])
        child = server.spawn("dali", fd)
        os.close(fd)
        reply = child.ask(
            {
                "op": "prepare",
                "library": "dali",
                "scenario": "video-16f",
                "native_op": "fn.flip",
                "params": ["horizontal=1"],
                "device": "cpu",
                "loader": loading.loader_object(),
            }
        )
        child.close()
        self.assertIn("decodes clips from files, on the GPU", reply["error"])


class FilesOnly:
    """A source of which no file is opened."""

    decodes = True

    def __len__(self):
        return 2

    def path(self, index):
        return f"{index}.jpg"

    def frames(self, index):
        return list(range(16))


class GpuGraphTest(unittest.TestCase):
    """Graphs for a GPU, put together and not built: that needs one."""

    # The matrix says so.
    UNSUPPORTED = {("video-16f", "Brightness"), ("video-16f", "Contrast")}

    def entries(self, scenario):
        configs = worker.PYTHON_FOLDER.parents[2] / "configs"
        for transform in transforms_of(configs, scenario):
            name = one_of(transform, "name")
            for entry in all_of(transform, "implementations"):
                if one_of(entry, "library") == "dali":
                    if (scenario, name) not in self.UNSUPPORTED:
                        yield name, entry

    def devices(self, scenario, name, entry, **settings):
        from loaders import dali, spec
        from loaders.recipes.dali import Recipe
        from nvidia.dali import Pipeline

        command = {
            "scenario": scenario,
            "native_op": one_of(entry, "native_op"),
            "params": all_of(entry, "params"),
        }
        mixed = name.lower() if name in ("Mixup", "CutMix") else ""
        loader = loading.of_files(
            is_crop=name in loading.CROPS,
            batch_transform=mixed,
            settings=settings,
        )
        parsed = spec.parse(loader, "cuda")
        recipe = Recipe(None, command, parsed)
        made = dali.Loader(FilesOnly(), recipe, parsed, command)
        with (
            mock.patch.object(Pipeline, "build"),
            mock.patch.object(Pipeline, "set_outputs") as outputs,
        ):
            made._build([0, 1], 2, 1)
        return [output.device for output in outputs.call_args.args]

    def test_images_end_on_the_gpu(self):
        count = 0
        for name, entry in self.entries("image-rgb"):
            for fused in ("true", "false"):
                with self.subTest(name, fused_decode=fused):
                    found = self.devices(
                        "image-rgb", name, entry, fused_decode=fused
                    )
                    self.assertEqual(found, ["gpu"])
                    count += 1
        self.assertGreater(count, 50)

    def test_clips_end_on_the_gpu(self):
        found = {
            name: self.devices("video-16f", name, entry)
            for name, entry in self.entries("video-16f")
        }
        self.assertGreater(len(found), 4)
        self.assertEqual(set(map(tuple, found.values())), {("gpu",)})

    def test_decoded_frames_stay_there(self):
        import dali_clips
        from nvidia.dali import Pipeline

        with (
            mock.patch.object(Pipeline, "build"),
            mock.patch.object(Pipeline, "set_outputs") as outputs,
        ):
            dali_clips.Decoder(on_gpu=True)
        (frames,) = outputs.call_args.args
        self.assertEqual(frames.device, "gpu")


if __name__ == "__main__":
    unittest.main()
