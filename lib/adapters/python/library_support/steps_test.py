"""Steps of a recipe, and what is drawn of them."""

import collections
import unittest

from library_support import steps
from operation import Operation
from params import ParamError, Params, generator


def make_one(spec):
    """An operation that appends its name and its parameter."""
    arguments = Params(spec["params"]).take_rest().fixed
    return Operation(lambda text: text + spec["native_op"] + str(arguments))


def make(*texts):
    return steps.make({"params": list(texts)}, make_one).call


class StepsTest(unittest.TestCase):
    def setUp(self):
        generator.seed(1)

    def test_one_after_the_other(self):
        call = make("step1=Blur{size=(3,3);sigma=2}", "step2=Flip{}")
        self.assertEqual(call(">"), ">Blur{'size': (3, 3), 'sigma': 2}Flip{}")

    def test_alternatives_are_drawn_evenly(self):
        call = make("step1=A{} | B{} | C{}")
        found = collections.Counter(call("") for _ in range(3000))
        self.assertEqual(set(found), {"A{}", "B{}", "C{}"})
        self.assertGreater(min(found.values()), 850)

    def test_probability(self):
        call = make("step1=0.25 A{}")
        found = collections.Counter(call("") for _ in range(4000))
        self.assertAlmostEqual(found["A{}"] / 4000, 0.25, delta=0.03)

    def test_nonsense(self):
        for text in (
            "p=1",
            "step1=A",
            "step1=2 A{}",
            "step1=A{} | ",
            "step=A{}",
        ):
            with self.assertRaises(ParamError):
                make(text)


if __name__ == "__main__":
    unittest.main()
