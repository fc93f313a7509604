"""feedrate.Episodes with torch: tensors, and the code of its page."""

import contextlib
import re
import textwrap
import unittest

import cases
import episode_cases
import numpy as np
import torch
from episode_cases import NEW, RLDS


class TensorTest(episode_cases.Case):
    def test_tensors_are_the_arrays(self):
        for arguments in (
            {},
            {"channels_last": True},
            {"dtype": "float32", "frames": [-1, 0], "actions": [0, 1]},
        ):
            arrays = self.episodes(NEW, **arguments)
            tensors = self.episodes(NEW, output="torch", **arguments)
            for one, other in zip(arrays, tensors, strict=True):
                self.assertEqual(one.keys(), other.keys())
                for key, array in one.items():
                    tensor = other[key]
                    if key == "instruction":
                        self.assertEqual(tensor, array)
                        continue
                    self.assertIsInstance(tensor, torch.Tensor)
                    if key == "image" and "channels_last" in arguments:
                        self.assertTrue(
                            tensor.is_contiguous(
                                memory_format=torch.channels_last
                            )
                        )
                        tensor = tensor.permute(0, 2, 3, 1)
                    np.testing.assert_array_equal(tensor.numpy(), array)

    def test_numpy_arrays_pass_on_by_dlpack(self):
        batch = next(iter(self.episodes(NEW, output="dlpack")))
        for key in ("image", "action", "step", "action_mask"):
            tensor = torch.from_dlpack(batch[key])
            self.assertEqual(tensor.data_ptr(), batch[key].ctypes.data)


class PageTest(episode_cases.Case):
    def test_the_code_of_the_page_runs(self):
        """docs/python_episodes.md, beside real data."""
        (self.folder / "pusht").symlink_to(NEW)
        (self.folder / "bridge").symlink_to(RLDS)
        page = (cases.ROOT / "docs/python_episodes.md").read_text()
        # Another check runs lerobot's.
        page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
        blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)
        self.assertEqual(len(blocks), 9)
        names = {}
        with contextlib.chdir(self.folder):
            for block in blocks:
                code = textwrap.dedent(block)
                exec(compile(code, "python_episodes.md", "exec"), names)
        self.assertTrue(torch.isfinite(names["loss"]))
        self.assertEqual(names["names"], ["bridge", "pusht"])
        self.assertEqual(len(names["continued"]["step"]), 3)
        self.assertEqual(names["normalized"].shape, (8, 4, 3))
        shards = {"b": sorted(map(str, RLDS.rglob("*.tfrecord*")))}
        mixture = names["make_mixture"](shards, {"b": 2.0}, 4, 1, 1)
        self.assertEqual(next(iter(mixture))["dataset"].tolist(), [0] * 4)


if __name__ == "__main__":
    unittest.main()
