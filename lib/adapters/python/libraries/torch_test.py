"""torchvision and Kornia: no copies, no threads before a fork, and wraps."""

import os
import pathlib
import unittest

import numpy as np
import process_setup
import server
from corpus import Corpus
from testing import worker

process_setup.avoid_hidden_sve()
FOLDER = pathlib.Path(__file__).parent
kornia, torchvision = (
    server.load_library(name, [FOLDER]) for name in ("kornia", "torchvision")
)
import torch  # noqa: E402, after the line above

RGB = np.random.default_rng(3).integers(0, 256, (3, 30, 42), dtype=np.uint8)


def run(library, image, native_op, *parameters, wrap=""):
    spec = {"native_op": native_op, "params": list(parameters), "wrap": wrap}
    return library.make(spec).call(torch.from_numpy(image.copy()))


class ZeroCopyTest(unittest.TestCase):
    def test_a_tensor_is_the_shared_memory_itself(self):
        for dtype in (np.uint8, np.float32):
            fd = worker.write_corpus([RGB.astype(dtype)], "CHW")
            item = Corpus(fd).item(0)
            tensor = torchvision.input_of(item, "CHW")
            self.assertEqual(
                tensor.data_ptr(), item.__array_interface__["data"][0]
            )
            np.testing.assert_array_equal(tensor.numpy(), RGB.astype(dtype))
            os.close(fd)

    def test_the_layout_is_checked(self):
        with self.assertRaisesRegex(ValueError, "needs CHW"):
            kornia.input_of(RGB, "HWC")


class ServerTest(unittest.TestCase):
    def test_the_server_has_one_thread_and_children_work(self):
        """Its threads would be missing in every child, which then hangs."""
        with worker.Server(["torchvision", "kornia"]) as running:
            corpus = worker.write_corpus([RGB], "CHW")
            for _ in range(20):
                child = running.spawn("torchvision", corpus)
                prepared = child.ask(
                    {
                        "op": "prepare",
                        "native_op": "GaussianBlur",
                        "params": ["kernel_size=(5,5)", "sigma=(2.0,2.0)"],
                        "torch_intra_op": 2,
                        "torch_inter_op": 1,
                    }
                )
                self.assertEqual(prepared["threads"], 2)
                timed = child.ask({"op": "time", "first": 0, "count": 3})
                self.assertEqual(timed["items"], 3)
                child.close()
            threads = os.listdir(f"/proc/{running.process.pid}/task")
            self.assertEqual(len(threads), 1)
            os.close(corpus)


class MeaningTest(unittest.TestCase):
    def test_torchvision_functions(self):
        output = run(
            torchvision,
            RGB,
            "functional.rotate",
            "angle=90",
            "interpolation=NEAREST",
            "expand=True",
        )
        np.testing.assert_array_equal(
            output.numpy(), np.rot90(RGB, axes=(1, 2))
        )

    def test_kornia_functions(self):
        image = RGB.astype(np.float32) / 255
        for parameter in ("factor=0.25", "factor=tensor([0.25])"):
            output = run(kornia, image, "enhance.adjust_brightness", parameter)
            np.testing.assert_allclose(
                output.numpy(), np.clip(image + 0.25, 0, 1), atol=1e-6
            )
        # A parameter that only a tensor will do for becomes a batch of one.
        output = run(
            kornia,
            image,
            "geometry.transform.translate",
            "translation=(2.0,0.0)",
            "mode=nearest",
        )
        np.testing.assert_allclose(output[:, :, 2:], image[:, :, :-2])

    def test_a_batch_for_a_class_that_wants_a_value_per_image(self):
        params = [
            *("angle=(25.0)", "translation=((2.0,1.0))"),
            "scale_factor=((2.0,2.0))",
        ]
        operation = kornia.make(
            {"native_op": "geometry.transform.Affine", "params": params}
        )
        image = torch.from_numpy(RGB.astype(np.float32) / 255)
        batch = torch.stack([image, image.flip(-1), 1 - image])
        for one, output in zip(batch, operation.native(batch), strict=True):
            torch.testing.assert_close(output, operation.call(one))

    def test_each_three_channels_by_themselves(self):
        other = RGB[::-1] // 2
        nine = np.concatenate([RGB, other, RGB])
        output = run(
            torchvision,
            nine,
            "Grayscale",
            "num_output_channels=3",
            wrap="per 3-channel chunk, concat",
        )
        for first, part in ((0, RGB), (3, other), (6, RGB)):
            alone = run(torchvision, part, "Grayscale", "num_output_channels=3")
            np.testing.assert_array_equal(output[first : first + 3], alone)

    def test_a_crop_larger_than_the_image_is_padded(self):
        image = RGB.astype(np.float32)
        wrap = "zero-pad to the crop size, then crop"
        output = run(
            kornia, image, "CenterCrop", "size=(40,20)", "p=1", wrap=wrap
        )
        wanted = np.zeros((3, 40, 20), np.float32)
        wanted[:, 5:35] = image[:, :, 11:31]
        np.testing.assert_array_equal(output.numpy(), wanted)

    def test_a_jigsaw_of_tiles_that_do_not_fit(self):
        image = RGB.astype(np.float32)
        wrap = "zero-pad to a multiple of the grid, jigsaw, crop back"
        output = run(
            kornia, image, "RandomJigsaw", "grid=(4,4)", "p=1", wrap=wrap
        )
        self.assertEqual(output.shape, image.shape)

    def test_unknown_wraps(self):
        for library in (kornia, torchvision):
            with self.assertRaisesRegex(ValueError, "wrap 'twice'"):
                run(library, RGB, "RandomInvert", wrap="twice")

    def test_an_operation_that_overwrites_its_input_gets_a_copy(self):
        spec = {
            "native_op": "RandomGaussianIllumination",
            "params": ["p=1"],
        }
        operation = kornia.make(spec)
        image = torch.from_numpy(RGB.astype(np.float32) / 255)
        before = image.clone()
        operation.call(operation.fresh(image))
        self.assertTrue(torch.equal(image, before))
        # If this holds no longer, the copy is needed no longer.
        operation.call(image)
        self.assertFalse(torch.equal(image, before))


if __name__ == "__main__":
    unittest.main()
