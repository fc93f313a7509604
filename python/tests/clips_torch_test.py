"""feedrate.Clips with torch: tensors, and the code of its page."""

import contextlib
import re
import textwrap
import unittest

import cases
import clip_cases
import numpy as np
import torch


class TensorTest(clip_cases.Case):
    def test_tensors_are_the_arrays(self):
        for arguments in ({}, {"channels_last": True}, {"dtype": "float32"}):
            given = {"sampling": "uniform", "crop": 64, **arguments}
            arrays = self.clips(clip_cases.videos(), **given)
            tensors = self.clips(clip_cases.videos(), output="torch", **given)
            for one, other in zip(arrays, tensors, strict=True):
                frames = other[0]
                self.assertEqual(frames.shape, (2, 4, 3, 64, 64))
                if "channels_last" in arguments:
                    frames = frames.movedim(-3, -1)
                    self.assertTrue(frames.is_contiguous())
                np.testing.assert_array_equal(frames.numpy(), one[0])
                np.testing.assert_array_equal(other[1].numpy(), one[1])
                self.assertEqual(other[1].dtype, torch.int64)

    def test_numpy_arrays_pass_on_by_dlpack(self):
        frames, *_ = next(
            iter(self.clips(clip_cases.videos(), output="dlpack"))
        )
        tensor = torch.from_dlpack(frames)
        self.assertEqual(tensor.data_ptr(), frames.ctypes.data)


class PageTest(clip_cases.Case):
    def test_the_code_of_the_page_runs(self):
        """docs/python_clips.md, beside videos of two classes."""
        clip_cases.write_classes(self.folder / "videos")
        page = (cases.ROOT / "docs/python_clips.md").read_text()
        blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)
        self.assertEqual(len(blocks), 5)
        names = {}
        with contextlib.chdir(self.folder):
            for block in blocks:
                code = textwrap.dedent(block)
                exec(compile(code, "python_clips.md", "exec"), names)
        self.assertTrue(torch.isfinite(names["loss"]))
        self.assertEqual(names["scores"].sum(1).round().tolist(), [3.0] * 6)
        self.assertEqual(len(names["rest"]), 2)


if __name__ == "__main__":
    unittest.main()
