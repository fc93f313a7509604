"""Several operations in a row, some drawn: native_op "steps".

    step1=0.5 HorizontalFlip{p=1}
    step2=Grayscale{...} | Solarize{threshold=128} | GaussianBlur{...}

Each parameter is one step, in their order: a probability (1 if left out), then
alternatives, one of which is drawn evenly, each with its parameters in braces,
semicolons between.
"""

import re

import params as parameters
from operation import Operation

NATIVE_OP = "steps"
_STEP = re.compile(r"step\d+=(?:(0?\.\d+|1(?:\.0)?) )?(.*)", re.DOTALL)
_ALTERNATIVE = re.compile(r"\s*([\w.+]+)\s*\{(.*)\}\s*", re.DOTALL)


def parse(texts):
    """A list of (probability, [spec of each alternative])."""
    return [_parse_step(text) for text in texts]


def _parse_step(text):
    match = _STEP.fullmatch(text)
    if not match:
        raise parameters.ParamError(f"parameter {text!r} is not a step")
    probability = float(match.group(1) or 1)
    return probability, [_parse_one(part) for part in match.group(2).split("|")]


def _parse_one(text):
    match = _ALTERNATIVE.fullmatch(text)
    if not match:
        raise parameters.ParamError(f"{text!r} is not NAME{{PARAMETERS}}")
    values = [value.strip() for value in match.group(2).split(";")]
    return {"native_op": match.group(1), "params": [v for v in values if v]}


def make(spec, make_one, pick=lambda operation: operation.call):
    """The steps as one Operation. pick(operation) is the function to call for
    each."""
    steps = [
        (probability, [make_one(one) for one in alternatives])
        for probability, alternatives in parse(spec["params"])
    ]
    calls = [(p, [pick(one) for one in some]) for p, some in steps]
    draw = parameters.generator

    def call(image):
        for probability, alternatives in calls:
            if probability < 1 and draw.random() >= probability:
                continue
            image = draw.choice(alternatives)(image)
        return image

    def seed(value):
        for _, alternatives in steps:
            for one in alternatives:
                one.seed(value)

    return Operation(call, seed)
