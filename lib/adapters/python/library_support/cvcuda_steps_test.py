"""What CV-CUDA is told to do, without it."""

import inspect
import pathlib
import unittest

from library_support import cvcuda_steps as cv
from params import ParamError, Params
from testing.textproto import all_of, one_of
from testing.transforms import transforms_of

CONFIGS = pathlib.Path(__file__).resolve().parents[4] / "configs"


def steps(native_op, *params, size=(40, 60)):
    return cv.make(native_op, Params(params))(*size)


def only(native_op, *params, size=(40, 60)):
    (step,) = steps(native_op, *params, size=size)
    return step.arguments


def through(rows, x, y):
    return tuple(a * x + b * y + c for a, b, c in rows)


class Stub:
    """Functions of CV-CUDA 0.19 for tensors, as its stub file has them."""

    def flip(src, flipCode: int, *, stream): ...
    def resize(src, shape: cv.Sides, interp: cv.Name, *, stream): ...
    def customcrop(src, rect: cv.Rectangle, *, stream): ...
    def copymakeborder(
        src,
        border_mode: cv.Name,
        border_value: list,
        *,
        top: int,
        bottom: int,
        left: int,
        right: int,
        stream,
    ): ...
    def warp_affine(
        src,
        xform: cv.Matrix,
        flags: cv.Flags,
        *,
        border_mode: cv.Name,
        border_value: cv.Vector = None,
        stream,
    ): ...
    def warp_perspective(
        src,
        xform: cv.Matrix,
        flags: cv.Flags,
        *,
        border_mode: cv.Name,
        border_value: cv.Vector,
        stream,
    ): ...
    def gaussian(
        src, kernel_size: tuple, sigma: tuple, border: cv.Name, *, stream
    ): ...
    def averageblur(
        src, kernel_size: tuple, kernel_anchor=None, border=None, *, stream
    ): ...
    def brightness_contrast(
        src,
        brightness: float,
        contrast: float,
        brightness_shift: float,
        contrast_center: float,
        *,
        stream,
    ): ...
    def histogrameq(src, dtype: cv.Name, *, method: cv.Name, stream): ...
    def adjust_saturation(src, saturation: float, *, stream): ...
    def adjust_hue(src, hue: float, *, stream): ...
    def adjust_sharpness(src, sharpness_factor: float, *, stream): ...
    def channelreorder(src, order: list, *, stream): ...
    def gamma_contrast(src, gamma: float, gain=1.0, *, stream): ...
    def posterize(src, bits: int, *, stream): ...
    def solarize(src, threshold: float, *, stream): ...
    def autocontrast(src, *, stream): ...
    def invert(src, *, stream): ...


def entries():
    """(native_op, params) of every transform that CV-CUDA has."""
    for transform in transforms_of(CONFIGS, "image-rgb"):
        for one in all_of(transform, "implementations"):
            if one_of(one, "library") == "cvcuda":
                yield one_of(one, "native_op"), all_of(one, "params")


class CvcudaStepsTest(unittest.TestCase):
    def assert_near(self, place, expected):
        for a, b in zip(place, expected, strict=True):
            self.assertAlmostEqual(a, b, places=9)

    def test_flips(self):
        self.assertEqual(only("flip", "axis=horizontal"), {"flipCode": 1})
        self.assertEqual(only("flip", "axis=vertical"), {"flipCode": 0})

    def test_sizes(self):
        self.assertEqual(
            only("resize", "size=(512,256)")["shape"], cv.Sides(512, 256)
        )
        self.assertEqual(
            only("resize", "side=120", "which=longest")["shape"],
            cv.Sides(80, 120),
        )
        self.assertEqual(
            only("resize", "side=120", "which=shortest")["shape"],
            cv.Sides(120, 180),
        )

    def test_crops_stay_inside(self):
        self.assertEqual(
            only("customcrop", "size=(20,30)", "position=center")["rect"],
            cv.Rectangle(15, 10, 30, 20),
        )
        self.assertEqual(
            only("customcrop", "size=(20,30)", "position=(8,16)")["rect"],
            cv.Rectangle(16, 8, 30, 20),
        )
        self.assertEqual(
            only("customcrop", "size=(35,50)", "position=(8,16)")["rect"],
            cv.Rectangle(10, 5, 50, 35),
        )

    def test_what_is_too_small_is_padded_first(self):
        pad, crop = steps("customcrop", "size=(45,50)", "position=center")
        self.assertEqual(pad.function, "copymakeborder")
        sides = [pad.arguments[n] for n in ("top", "bottom", "left", "right")]
        self.assertEqual(sides, [2, 3, 0, 0])
        self.assertEqual(crop.arguments["rect"], cv.Rectangle(5, 0, 50, 45))

    def test_a_map_says_where_pixels_are_read(self):
        def rows(*params, size=(41, 61)):
            return only("warp_affine", *params, size=size)["xform"].rows

        # The center stays; 90 degrees take what is on the right to the top.
        turned = rows("degrees=90")
        self.assert_near(through(turned, 30, 20), (30, 20))
        self.assert_near(through(turned, 30, 10), (40, 20))
        # Moved right and down: read left and above.
        self.assert_near(through(rows("shift=(3,2)"), 13, 12), (10, 10))
        self.assert_near(through(rows("scale=2"), 40, 30), (35, 25))
        # What is above the center goes right.
        self.assert_near(through(rows("shear=(45,0)"), 40, 10), (30, 10))

    def test_a_perspective_is_three_rows(self):
        arguments = only("warp_perspective", "matrix=(1,2,3,4,5,6,7,8)")
        self.assertEqual(
            arguments["xform"].rows, ((1, 2, 3), (4, 5, 6), (7, 8, 1))
        )
        self.assertEqual(
            arguments["flags"].paths,
            ("Interp.LINEAR", "Interp.WARP_INVERSE_MAP"),
        )

    def test_functions_one_after_the_other(self):
        made = steps(
            "brightness_contrast+adjust_saturation",
            "brightness=0.5",
            "saturation=0.8",
        )
        self.assertEqual(
            [step.function for step in made],
            ["brightness_contrast", "adjust_saturation"],
        )
        self.assertEqual(made[0].arguments["brightness"], 0.5)
        self.assertEqual(made[1].arguments, {"saturation": 0.8})

    def test_nobody_waits_for_a_tensor_of_the_same_stream(self):
        class Tensor:
            __cuda_array_interface__ = {"data": (16, False), "version": 2}

        tensor = Tensor()
        shared = cv.exported(tensor)
        self.assertIs(shared.tensor, tensor)
        self.assertEqual(
            shared.__cuda_array_interface__,
            {"data": (16, False), "version": 3, "stream": -1},
        )
        self.assertNotIn("stream", tensor.__cuda_array_interface__)

    def test_every_transform_calls_what_there_is(self):
        called = set()
        for native_op, params in entries():
            for step in steps(native_op, *params, size=(200, 300)):
                called.add(step.function)
                with self.subTest(f"{native_op} {step}"):
                    self.check_call(step)
        self.assertEqual(called, {n for n in vars(Stub) if n[0] != "_"})

    def check_call(self, step):
        signature = inspect.signature(getattr(Stub, step.function))
        signature.bind("image", stream=None, **step.arguments)
        for name, value in step.arguments.items():
            wanted = signature.parameters[name].annotation
            if wanted is not inspect.Parameter.empty:
                self.assertIs(type(value), wanted, name)

    def test_what_is_not_understood(self):
        with self.assertRaisesRegex(LookupError, "no function dance"):
            steps("dance")
        with self.assertRaisesRegex(ParamError, "nothing takes parameter p"):
            steps("invert", "p=1")
        with self.assertRaisesRegex(ParamError, "must be the same"):
            steps("posterize", "bits=U(1,4)")


if __name__ == "__main__":
    unittest.main()
