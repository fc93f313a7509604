"""What CV-CUDA is told to do, without it."""

import unittest

import cvcuda_steps as cv
from params import ParamError, Params


def steps(native_op, *params, size=(40, 60)):
    return cv.make(native_op, Params(params))(*size)


def only(native_op, *params, size=(40, 60)):
    (step,) = steps(native_op, *params, size=size)
    return step.arguments


def through(rows, x, y):
    return tuple(a * x + b * y + c for a, b, c in rows)


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

        # The centre stays; 90 degrees take what is on the right to the top.
        turned = rows("degrees=90")
        self.assert_near(through(turned, 30, 20), (30, 20))
        self.assert_near(through(turned, 30, 10), (40, 20))
        # Moved right and down: read left and above.
        self.assert_near(through(rows("shift=(3,2)"), 13, 12), (10, 10))
        self.assert_near(through(rows("scale=2"), 40, 30), (35, 25))
        # What is above the centre goes right.
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

    def test_what_is_not_understood(self):
        with self.assertRaisesRegex(LookupError, "no function dance"):
            steps("dance")
        with self.assertRaisesRegex(ParamError, "nothing takes parameter p"):
            steps("invert", "p=1")
        with self.assertRaisesRegex(ParamError, "must be the same"):
            steps("posterize", "bits=U(1,4)")


if __name__ == "__main__":
    unittest.main()
