"""The little language of parameters."""

import math
import unittest

import params
from params import Drawn, ParamError, Params


def one(text, **more):
    return Params([f"x={text}"], **more).take("x")


class ConstantsTest(unittest.TestCase):
    def test_reads_what_python_would_write(self):
        for text, value in {
            "512": 512,
            "-0.5": -0.5,
            "1e-3": 0.001,
            "(0.08,1.0)": (0.08, 1.0),
            "((20.0,20.0))": (20.0, 20.0),
            "((0,0,0),(1,1,1))": ((0, 0, 0), (1, 1, 1)),
            "[1,2]": [1, 2],
            "(25.0)": 25.0,
            "(1,)": (1,),
            "True": True,
            "None": None,
            "3*(0.5,1)": (0.5, 1, 0.5, 1, 0.5, 1),
            "{x:(20,20),y:(2,3)}": {"x": (20, 20), "y": (2, 3)},
            '"a b"': "a b",
            "pil": "pil",
            "int(100+200*0.5)": 200,
        }.items():
            with self.subTest(text):
                self.assertEqual(one(text), value)

    def test_degrees(self):
        self.assertEqual(one("(1,tan(10deg))"), (1, math.tan(math.radians(10))))

    def test_names_are_the_librarys(self):
        def resolve(parameter, name):
            self.assertEqual(parameter, "x")
            return {"INTER_LINEAR": 1}[name]

        self.assertEqual(one("INTER_LINEAR", resolve=resolve), 1)
        self.assertEqual(one("constant", resolve=resolve), "constant")
        self.assertEqual(one("(INTER_LINEAR,b)", resolve=resolve), (1, "b"))

    def test_functions_of_the_library(self):
        self.assertEqual(
            one("twice([1])", functions={"twice": lambda v: v * 2}), [1, 1]
        )


class DrawnTest(unittest.TestCase):
    def test_draws_anew_for_each_call(self):
        value = one("-U(-45,45)")
        self.assertIsInstance(value, Drawn)
        draws = [value.draw() for _ in range(1000)]
        self.assertGreater(len(set(draws)), 990)
        self.assertGreaterEqual(min(draws), -45)
        self.assertLessEqual(max(draws), 45)
        self.assertLess(abs(sum(draws) / 1000), 5)

    def test_is_repeated_by_the_seed(self):
        value = one("(U(0,1),int(100+200*U(0.2,0.5)),7)")
        params.generator.seed(3)
        first = value.draw()
        self.assertNotEqual(value.draw(), first)
        params.generator.seed(3)
        self.assertEqual(value.draw(), first)
        self.assertTrue(140 <= first[1] <= 200 and first[2] == 7)

    def test_bound_arguments(self):
        fixed = Params(["a=1", "b=(2,3)"]).take_rest()
        self.assertEqual(
            fixed.bind(lambda x, a, b: (x, a, b))(0), (0, 1, (2, 3))
        )
        drawn = Params(["a=U(5,5)", "b=2"]).take_rest()
        self.assertEqual(drawn.bind(lambda x, a, b: (x, a, b))(0), (0, 5.0, 2))
        self.assertEqual(Params([]).take_rest().bind(lambda x: x)(9), 9)


class MistakesTest(unittest.TestCase):
    def test_each_names_the_parameter(self):
        for text in (
            "1+",
            "f(1)",
            "a.b",
            "lambda: 1",
            "[i for i in a]",
            "1/0",
            "__import__('os')",
            "U(1)",
            "U(1,a=2)",
            "a if b else c",
            "{(1,):2}",
            "1<2",
            "(1,2)+3",
            "",
        ):
            with self.subTest(text), self.assertRaisesRegex(ParamError, "x"):
                one(text)

    def test_not_name_value(self):
        for text in ("x", "=1", "a b=1", "1=1"):
            with self.subTest(text), self.assertRaisesRegex(ParamError, "NAME"):
                Params([text])

    def test_the_same_name_twice(self):
        with self.assertRaisesRegex(ParamError, "a is there twice"):
            Params(["a=1", "a=2"])

    def test_nothing_is_ignored(self):
        parameters = Params(["a=1", "color=red"])
        parameters.take("a")
        with self.assertRaisesRegex(ParamError, "nothing takes .*color"):
            parameters.check_all_taken()

    def test_statements_must_hold(self):
        Params(["copy=True"]).expect("copy", True)
        Params([]).expect("copy", True)
        with self.assertRaisesRegex(ParamError, "copy is False"):
            Params(["copy=False"]).expect("copy", True)

    def test_fixed_means_not_drawn(self):
        with self.assertRaisesRegex(ParamError, "angle must be the same"):
            Params(["angle=U(0,1)"]).take_fixed("angle")


if __name__ == "__main__":
    unittest.main()
