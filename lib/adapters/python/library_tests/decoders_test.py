"""Python's decoders on a video whose frames tell their number.

    <environment of torch_video>/bin/python -m library_tests.decoders_test

Each decoder is asked, through the server, for the same frames of a small video
that PyAV encodes: every frame must be the one asked for, repeats included, and
what is not a video must be an answer with its name.
"""

import pathlib
import sys
import tempfile
import unittest

import av
from testing import counting, worker

DECODERS = ["opencv", "pyav", "torchcodec", "decord"]
HEIGHT, WIDTH, COUNT = 96, 128, 60
# Numbers of the frames to ask for; one comes twice.
CLIPS = [[0, 7, 20, 20, 41, 59], list(range(30, 46))]


def write_video(path, codec, container_format):
    with av.open(str(path), "w", format=container_format) as video:
        stream = video.add_stream(codec, rate=25)
        stream.width, stream.height = WIDTH, HEIGHT
        stream.pix_fmt = "yuv420p"
        stream.gop_size = 12
        for number in range(COUNT):
            frame = av.VideoFrame.from_ndarray(
                counting.picture(number, HEIGHT, WIDTH), format="rgb24"
            )
            for packet in stream.encode(frame):
                video.mux(packet)
        for packet in stream.encode():
            video.mux(packet)


def prepare(library):
    return {
        "op": "prepare",
        "library": library,
        "scenario": "video-decode-16f",
        "device": "cpu",
        "seed": 1,
        "opencv_threads": 0,
        "opencv_opencl": False,
        "torch_intra_op": 1,
        "torch_inter_op": 1,
        "decode": {"threads": 1},
    }


class DecodersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.videos = [folder / "a.avi", folder / "b.mp4"]
        write_video(cls.videos[0], "mpeg4", "avi")
        write_video(cls.videos[1], "libx264", "mp4")
        cls.broken = folder / "broken.avi"
        cls.broken.write_bytes(b"RIFF no video")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, child, library):
        self.assertEqual(child.ask(prepare(library))["threads"], 1)
        outputs = child.outputs([0, 1])
        for (clip, layout), numbers in zip(outputs, CLIPS, strict=True):
            self.assertEqual(layout, "THWC")
            self.assertEqual(clip.shape, (len(numbers), HEIGHT, WIDTH, 3))
            self.assertEqual(
                [counting.number_in(frame) for frame in clip], numbers
            )
        timed = child.ask({"op": "time", "first": 0, "count": 2, "seed": 1})
        self.assertEqual(timed["items"], 2)
        reply = child.ask({"op": "output", "indexes": [2], "seed": 1})
        self.assertIn("error", reply)

    def test_frames_asked_for(self):
        with worker.Server(DECODERS, env=worker.ONE_THREAD) as server:
            self.assertIn("hello", server.hello, server.hello)
            self.assertEqual(sorted(server.hello["versions"]), sorted(DECODERS))
            for library in DECODERS:
                files = list(zip(self.videos, CLIPS, strict=True))
                files.append((self.broken, [0]))
                with self.subTest(library):
                    child = server.spawn(library, counting.list_fd(files))
                    try:
                        self.check(child, library)
                    finally:
                        child.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
