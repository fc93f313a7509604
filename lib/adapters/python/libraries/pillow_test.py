"""How native_op and parameters become calls of Pillow."""

import pathlib
import unittest

import numpy as np
import params
import server
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

library = server.load_library("pillow", [pathlib.Path(__file__).parent])
IMAGE = Image.fromarray(
    np.random.default_rng(3).integers(0, 256, (40, 60, 3), dtype=np.uint8)
)


def run(native_op, *parameters, wrap=""):
    spec = {"native_op": native_op, "params": list(parameters), "wrap": wrap}
    return library.make(spec).call(IMAGE)


class MeaningTest(unittest.TestCase):
    def check(self, output, image):
        np.testing.assert_array_equal(output, np.asarray(image))
        self.assertTrue(output.flags.c_contiguous)

    def test_method_of_the_image(self):
        self.check(
            run("Image.resize", "size=(30,20)", "resample=BILINEAR"),
            IMAGE.resize((30, 20), Image.Resampling.BILINEAR),
        )
        self.check(
            run("Image.transpose", "method=FLIP_LEFT_RIGHT"),
            ImageOps.mirror(IMAGE),
        )
        self.check(
            run("Image.crop", "box=(5,6,25,36)"), IMAGE.crop((5, 6, 25, 36))
        )

    def test_function_with_the_image_first(self):
        self.check(
            run("ImageOps.expand", "border=10", "fill=0"),
            ImageOps.expand(IMAGE, 10, 0),
        )
        self.check(run("ImageOps.invert"), ImageOps.invert(IMAGE))

    def test_filter(self):
        self.check(
            run("ImageFilter.GaussianBlur", "radius=2.0"),
            IMAGE.filter(ImageFilter.GaussianBlur(2)),
        )
        self.check(
            run("ImageFilter.DETAIL", "kernel=fixed"),
            IMAGE.filter(ImageFilter.DETAIL),
        )
        self.check(
            run("ImageFilter.Kernel", "size=(3,3)", "kernel=9*(1,)", "scale=9"),
            IMAGE.filter(ImageFilter.Kernel((3, 3), [1] * 9, 9)),
        )

    def test_enhancer(self):
        self.check(
            run("ImageEnhance.Color", "factor=1.5"),
            ImageEnhance.Color(IMAGE).enhance(1.5),
        )

    def test_steps_share_the_parameters(self):
        self.check(
            run("ImageOps.grayscale+Image.convert", "mode=RGB"),
            ImageOps.grayscale(IMAGE).convert("RGB"),
        )

    def test_transform_by_coefficients(self):
        for name in ("coeffs", "data"):
            self.check(
                run(
                    "Image.transform",
                    "method=AFFINE",
                    f"{name}=(1,0.5,3,0,1,-2)",
                    "size=input",
                    "resample=BILINEAR",
                    "fillcolor=0",
                ),
                IMAGE.transform(
                    IMAGE.size,
                    Image.Transform.AFFINE,
                    (1, 0.5, 3, 0, 1, -2),
                    Image.Resampling.BILINEAR,
                    fillcolor=0,
                ),
            )

    def test_transform_by_what_it_does(self):
        def affine(angle, shift, scale, shear):
            return run(
                "Image.transform",
                "method=AFFINE",
                f"angle={angle}",
                f"shift_px={shift}",
                f"scale={scale}",
                f"shear_x_deg={shear}",
                "size=input",
                "resample=NEAREST",
            )

        pixels = np.asarray(IMAGE)
        np.testing.assert_array_equal(affine(0, "(0,0)", 1.0, 0), pixels)
        np.testing.assert_array_equal(
            affine(0, "(7,5)", 1.0, 0)[5:, 7:], pixels[:-5, :-7]
        )
        np.testing.assert_array_equal(
            affine(0, "(0,0)", 2.0, 0)[::2, ::2], pixels[:20, :30]
        )
        # A quarter turn counter-clockwise about the corner, moved back in.
        np.testing.assert_array_equal(
            affine(90, "(0,40)", 1.0, 0)[:40, :40],
            np.rot90(pixels[:, :40])[:, :40],
        )

    def test_through_a_file_in_memory(self):
        output = run(
            "Image.save+Image.open",
            "format=PNG",
            "buffer=memory",
            "copy=True",
        )
        self.check(output, IMAGE)

    def test_drawn_parameters(self):
        spec = {
            "native_op": "Image.rotate",
            "params": ["angle=-U(-45,45)", "resample=NEAREST"],
        }
        operation = library.make(spec)
        params.generator.seed(5)
        first, second = operation.call(IMAGE), operation.call(IMAGE)
        self.assertFalse(np.array_equal(first, second))
        params.generator.seed(5)
        angle = -params.generator.uniform(-45, 45)
        self.check(first, IMAGE.rotate(angle))


class MistakesTest(unittest.TestCase):
    def test_each_says_what_is_wrong(self):
        for native_op, parameters, text in [
            ("Image.nothing", [], "no nothing"),
            ("ImageNothing.x", [], "no module ImageNothing"),
            ("invert", [], "no module invert"),
            ("ImageOps.invert", ["color=1"], "nothing takes .*color"),
            ("ImageFilter.DETAIL", ["kernel=other"], "kernel is 'other'"),
            ("Image.transform", ["random=some"], "random is 'some'"),
        ]:
            with (
                self.subTest(native_op),
                self.assertRaisesRegex((LookupError, ValueError), text),
            ):
                run(native_op, *parameters)
        with self.assertRaisesRegex(ValueError, "wrap 'twice'"):
            run("ImageOps.invert", wrap="twice")

    def test_inputs_that_are_no_images(self):
        for array, layout in [
            (np.zeros((4, 4, 9), np.uint8), "HWC"),
            (np.zeros((3, 4, 4), np.uint8), "CHW"),
            (np.zeros((4, 4, 3), np.float32), "HWC"),
        ]:
            with self.assertRaises(ValueError):
                library.input_of(array, layout)


if __name__ == "__main__":
    unittest.main()
