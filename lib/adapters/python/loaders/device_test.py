"""The part of a recipe that runs on a device gives what the whole does."""

import os
import pathlib
import sysconfig
import unittest

import server
import torch
from loaders import spec
from loaders.device import Copy, Finish, last_stage
from loaders.epoch import Stages
from loaders.recipes import kornia, torchvision
from testing import loading

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "libraries"
FLIP = {"native_op": "RandomHorizontalFlip", "params": ["p=1"]}
IMAGES = torch.randint(
    0, 256, (4, 3, 240, 250), dtype=torch.uint8
)  # No transform here draws.


def recipe_on(device, **changes):
    library = server.load_library("torchvision", [FOLDER])
    parsed = spec.parse(
        loading.loader_object(crop_position="center", **changes), device
    )
    return torchvision.Recipe(library, FLIP, parsed), parsed


class DeviceTest(unittest.TestCase):
    def finished(self, device, **changes):
        """Does what a loader does with device cuda, on another device."""
        recipe, _ = recipe_on("cuda", **changes)
        crops = torch.stack([recipe.call(image) for image in IMAGES])
        self.assertEqual(crops.dtype, torch.uint8)
        self.assertEqual(crops.shape, (4, 3, 224, 224))
        return Finish(torch.device(device), recipe, Stages(1))(crops)

    def check(self, device):
        recipe, _ = recipe_on("cpu")
        wanted = torch.stack([recipe.call(image) for image in IMAGES])
        torch.testing.assert_close(
            self.finished(device).cpu(), wanted, rtol=0, atol=1e-5
        )

    def test_finish(self):
        self.check("cpu")

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU here")
    def test_finish_on_a_gpu(self):
        self.check("cuda")

    @unittest.skipUnless(
        os.path.exists(f"{sysconfig.get_path('include')}/Python.h"),
        "torch.compile needs Python.h (python3-dev)",
    )
    def test_compiled_kornia_gives_the_same(self):
        parsed = spec.parse(
            loading.loader_object(crop_position="center"), "cuda"
        )
        crops = torch.rand(4, 3, 224, 224)
        got = []
        for name in ("kornia", "kornia_compiled"):
            library = server.load_library(name, [FOLDER])
            recipe = kornia.Recipe(library, FLIP, parsed)
            got.append(recipe.finish(crops))
        torch.testing.assert_close(got[0], got[1])
        self.assertGreater(torch._dynamo.utils.counters["frames"]["ok"], 0)

    def test_copies_are_complete(self):
        copy = Copy(torch.device("cpu"), Stages(1))
        for size in (3, 3, 2):
            batch = torch.rand(size, 3, 4, 4)
            torch.testing.assert_close(copy(batch), batch)

    @unittest.skipIf(torch.cuda.is_available(), "a GPU is here")
    def test_without_a_gpu(self):
        recipe, parsed = recipe_on("cuda")
        with self.assertRaisesRegex(RuntimeError, "no CUDA device"):
            last_stage(parsed, recipe, Stages(1))

    def test_nothing_is_left_to_do(self):
        recipe, parsed = recipe_on("cpu")
        self.assertIsNone(last_stage(parsed, recipe, Stages(1)))


if __name__ == "__main__":
    unittest.main()
