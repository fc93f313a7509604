"""Clips on a device, with the CPU instead of a GPU: micro and loaders.

A device called cpu:0 takes every path that cuda takes, on the CPU.
"""

import json
import os
import pathlib
import time
import unittest
from unittest import mock

import child
import numpy as np
import process_setup
import server
from loaders import spec
from loaders.device import Finish
from loaders.epoch import Stages
from loaders.job import import_modules
from testing import loading, worker

process_setup.avoid_hidden_sve()
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "libraries"
LIBRARIES = {
    name: server.load_library(name, [FOLDER])
    for name in ("kornia", "torchvision")
}
import torch  # noqa: E402, after the line above

FLIP = {
    "native_op": "RandomHorizontalFlip",
    "params": ["p=1"],
    "scenario": "video-16f",
}
FRAMES = 16
RNG = np.random.default_rng(5)
# Two clips whose frames move, and two whose frames stay as they are.
MOVING = torch.from_numpy(RNG.random((2, FRAMES, 3, 240, 260), np.float32))
STILL = MOVING[:, :1].expand(-1, FRAMES, -1, -1, -1).contiguous()


def recipe_on(library, device, operation=FLIP, **changes):
    parsed = spec.parse(loading.loader_object(**changes), device)
    _, recipes = import_modules(LIBRARIES[library], library)
    command = operation | {"device": device, "loader": {}}
    return recipes.Recipe(LIBRARIES[library], command, parsed)


def finished(library, clips, operation=FLIP, **changes):
    """What a loader does with device cuda, on another one."""
    recipe = recipe_on(library, "cuda", operation, **changes)
    batch = torch.stack([recipe.call(clip) for clip in clips])
    if not torch.equal(batch, clips):
        raise AssertionError("workers changed the clips")
    torch.manual_seed(3)
    return Finish(torch.device("cpu"), recipe, Stages(1))(batch)


class LoaderTest(unittest.TestCase):
    def test_the_recipe_is_that_of_the_cpu(self):
        for library in LIBRARIES:
            with self.subTest(library):
                recipe = recipe_on(library, "cpu", crop_position="center")
                wanted = torch.stack([recipe.call(clip) for clip in MOVING])
                self.assertEqual(wanted.shape, (2, FRAMES, 3, 224, 224))
                got = finished(library, MOVING, crop_position="center")
                torch.testing.assert_close(got, wanted, rtol=0, atol=1e-5)

    def test_frames_share_a_draw_and_clips_do_not(self):
        same = torch.cat([STILL[:1], STILL[:1]])
        brightness = {
            "kornia": ("RandomBrightness", ["brightness=(0.5,1.5)"]),
            "torchvision": ("ColorJitter", ["brightness=(0.5,1.5)"]),
        }
        for library, (name, params) in brightness.items():
            with self.subTest(library):
                if library == "kornia":
                    params = [*params, "p=1", "same_on_batch=True"]
                jitter = FLIP | {"native_op": name, "params": params}
                got = finished(library, same, jitter)
                for clip in got:
                    torch.testing.assert_close(clip, clip[:1].expand_as(clip))
                self.assertFalse(torch.equal(got[0], got[1]))

    def test_transforms_that_are_the_crop(self):
        crop = FLIP | {
            "native_op": "RandomCrop",
            "params": ["size=(224,224)", "pad_if_needed=True"],
        }
        for library in LIBRARIES:
            with self.subTest(library):
                one = dict(crop)
                if library == "kornia":
                    one["params"] = [*crop["params"], "p=1"]
                    one["params"].append("same_on_batch=True")
                got = finished(library, STILL, one, is_crop=True)
                self.assertEqual(got.shape, (2, FRAMES, 3, 224, 224))
                for clip in got:
                    torch.testing.assert_close(clip, clip[:1].expand_as(clip))


class HostDevice:
    """torch_device.CudaDevice on the CPU."""

    max_clock_mhz = 1000

    def place(self, tensor):
        return tensor.clone()

    def stack(self, tensors):
        return torch.stack(tensors)

    def flush(self):
        pass

    def begin(self):
        self._begin = time.perf_counter()

    def end(self):
        return time.perf_counter() - self._begin

    def reset_peaks(self):
        pass

    def peaks(self):
        return 30, 40

    def read_clock(self):
        return 900, 4

    def copy_bytes_per_s(self):
        return 1e9


class MicroTest(unittest.TestCase):
    def prepared(self, library, operation, **more):
        clips = [
            np.ascontiguousarray(clip.numpy().astype(np.float16))
            for clip in MOVING[:, :, :, :64, :80]
        ]
        corpus = worker.write_corpus(clips, "CHW")
        self.addCleanup(os.close, corpus)
        asked = child.Child(LIBRARIES[library], corpus)
        command = {"op": "prepare", "device": "cpu:0", **operation, **more}
        with mock.patch.object(
            LIBRARIES[library], "device_of", lambda name: HostDevice()
        ):
            reply = asked.answer(json.dumps(command))
        self.assertNotIn("error", reply)
        self.assertEqual(reply["device_copy_bytes_per_s"], 1e9)
        return asked

    def time(self, asked, **more):
        command = {"op": "time", "first": 0, "count": 4, "seed": 1, **more}
        reply = asked.answer(json.dumps(command))
        self.assertNotIn("error", reply, reply)
        return reply

    def test_a_call_is_a_clip(self):
        bytes_of_clip = FRAMES * 3 * 64 * 80 * 2
        for library in LIBRARIES:
            with self.subTest(library):
                asked = self.prepared(library, FLIP)
                reply = self.time(asked, chunk=2, cold=True)
                self.assertEqual(reply["items"], 4)
                self.assertEqual(len(reply["samples_s"]), 2)
                device = reply["device"]
                self.assertEqual(device["bytes_in"], 4 * bytes_of_clip)
                self.assertEqual(device["bytes_out"], 4 * bytes_of_clip)
                self.assertEqual(device["clocks_mhz"], [900, 900])
                self.assertEqual(device["peak_allocated_bytes"], 30)

    def test_a_batch_of_clips_is_one_call(self):
        asked = self.prepared("kornia", FLIP, batch=2)
        reply = self.time(asked)
        self.assertEqual(reply["items"], 4)
        self.assertEqual(len(reply["samples_s"]), 2)

    def test_a_batch_of_clips_flips_each_frame(self):
        operation = LIBRARIES["kornia"].make(FLIP | {"device": "cpu:0"})
        torch.testing.assert_close(operation.native(MOVING), MOVING.flip(-1))


if __name__ == "__main__":
    unittest.main()
