"""DALI's decoder of clips, with the CPU instead of a GPU.

    <environment>/bin/python -m library_tests.decoder_dali_test

A device called cpu:0 takes every path that cuda takes, and the graph is the
same except for the decoder. dev/checks/python_loader_test.sh runs it.
"""

import ctypes
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import child
import dali_clips
import server
from testing import counting, worker
from timing_test import FakeDevice

FOLDER = worker.PYTHON_FOLDER / "libraries"
DALI = server.load_library("dali", [FOLDER])
# One comes twice, and one goes back.
CLIPS = [[0, 7, 20, 20, 41, 59], list(range(30, 46)), [50, 3]]


def prepare(device):
    return {
        "op": "prepare",
        "library": "dali",
        "scenario": "video-decode-16f",
        "device": device,
        "seed": 1,
        "torch_intra_op": 1,
        "decode": {"threads": 1},
    }


class DecoderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.broken = pathlib.Path(folder.name, "broken.webm")
        self.broken.write_bytes(b"no video")
        self.empty = pathlib.Path(folder.name, "empty.webm")
        self.empty.touch()

    def prepared(self, files, device="cpu:0"):
        fd = counting.list_fd(files)
        self.addCleanup(os.close, fd)
        asked = child.Child(DALI, fd)
        self.device = FakeDevice([(1980, 0)] * 9)
        with mock.patch.object(DALI, "device_of", lambda name: self.device):
            reply = asked.answer(json.dumps(prepare(device)))
        self.assertNotIn("error", reply)
        # Nothing is copied within the device: no such limit.
        self.assertNotIn("device_copy_bytes_per_s", reply)
        self.assertEqual((reply["version"], reply["threads"]), ("2.4.0", 1))
        return asked

    def test_frames_asked_for_in_their_order(self):
        decode = dali_clips.Decoder(on_gpu=False)
        for numbers in CLIPS:
            frames = decode((counting.VIDEO, numbers))
            clip = frames.array()
            self.assertEqual(
                clip.shape,
                (len(numbers), counting.HEIGHT, counting.WIDTH, 3),
            )
            self.assertEqual(frames.nbytes, clip.nbytes)
            shown = [counting.number_in(frame) for frame in clip]
            self.assertEqual(shown, numbers)

    def test_what_cannot_be_decoded_is_named_and_the_next_can(self):
        decode = dali_clips.Decoder(on_gpu=False)
        for path, numbers, words in (
            (self.broken, [0], "broken.webm: .*Failed to create video decoder"),
            (self.empty, [0], "empty.webm: is empty"),
            (counting.VIDEO, [0, 60], "counting.webm: ."),
        ):
            with self.assertRaisesRegex(ValueError, words) as caught:
                decode((path, numbers))
            self.assertNotIn("\n", str(caught.exception))
            clip = decode((counting.VIDEO, [9])).array()
            self.assertEqual(counting.number_in(clip[0]), 9)
        with self.assertRaises(FileNotFoundError):
            decode((self.broken.with_name("none.webm"), [0]))

    def test_a_call_is_timed_on_the_device(self):
        asked = self.prepared([(counting.VIDEO, clip) for clip in CLIPS])
        reply = asked.answer(
            json.dumps({"op": "time", "first": 0, "count": 3, "seed": 1})
        )
        self.assertNotIn("error", reply, reply)
        self.assertEqual((reply["items"], reply["samples_s"]), (3, [0.5] * 3))
        self.assertEqual(self.device.log, ["reset", *("begin", "end") * 3])
        device = reply["device"]
        self.assertEqual(device["bytes_in"], 0)
        frames = sum(map(len, CLIPS))
        self.assertEqual(
            device["bytes_out"], frames * counting.HEIGHT * counting.WIDTH * 3
        )
        self.assertEqual(device["clocks_mhz"], [1980] * 3)
        self.assertEqual(device["peak_allocated_bytes"], 300)

    def test_outputs_are_on_the_host(self):
        asked = self.prepared([(counting.VIDEO, clip) for clip in CLIPS])
        reply = asked.answer(
            json.dumps({"op": "output", "indexes": [2], "seed": 1})
        )
        (output,) = reply["outputs"]
        self.assertEqual(output["layout"], "THWC")
        self.assertEqual(output["dtype"], "uint8")
        self.assertEqual(
            output["shape"], [2, counting.HEIGHT, counting.WIDTH, 3]
        )


class ServerTest(unittest.TestCase):
    """Through the server, as the runner asks."""

    def ask(self, command):
        with worker.Server(["dali"]) as served:
            fd = counting.list_fd([(counting.VIDEO, CLIPS[0])])
            asked = served.spawn("dali", fd)
            os.close(fd)
            try:
                return asked.ask(command)
            finally:
                asked.close()

    def test_the_cpu_is_refused(self):
        reply = self.ask(prepare("cpu"))
        self.assertIn("DALI decodes clips on the GPU", reply["error"])

    def test_transforms_are_refused(self):
        command = prepare("cuda") | {"native_op": "fn.flip", "params": []}
        del command["decode"]
        with mock.patch.object(DALI, "device_of", lambda name: FakeDevice()):
            fd = worker.write_corpus([counting.picture(1, 48, 64)])
            self.addCleanup(os.close, fd)
            reply = child.Child(DALI, fd).answer(json.dumps(command))
        self.assertIn("it has no transforms alone", reply["error"])

    def test_without_a_driver_the_answer_says_so(self):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            reply = self.ask(prepare("cuda"))
            self.assertIn("no CUDA driver is here", reply["error"])
        else:
            self.skipTest("there is a driver")


if __name__ == "__main__":
    unittest.main()
