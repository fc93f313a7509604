"""Reads the NAME=VALUE parameters of configs/transforms.

A value is written as Python would write it: numbers, tuples, lists,
{x:(20,20)}, True, None, arithmetic. Besides that
  * a bare name such as INTER_LINEAR is what the library calls by that name, or
    else the text itself;
  * U(a,b) is a number drawn evenly from a to b for each call;
  * int(...), tan(...) and 10deg are what they look like;
  * a library may add functions of its own, such as tensor([...]), or draw U
    itself.
Only this little language is understood; nothing is ever passed to eval().
"""

import ast
import math
import operator
import random
import re

# Draws of all parameters; seeded together with the library's own generators.
generator = random.Random()

_DEGREES = re.compile(r"(\d+(?:\.\d+)?)deg\b")
_FUNCTIONS = {"int": int, "tan": math.tan, "radians": math.radians}
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class ParamError(ValueError):
    """A parameter that cannot be read, or that nothing uses."""


class Drawn:
    """A value that is drawn for each call."""

    def __init__(self, draw):
        self.draw = draw


class Params:
    """Parameters by name, in their order; remembers which were taken."""

    def __init__(self, texts, resolve=None, functions=None):
        """resolve(parameter, name) gives the library's object for a bare name
        or raises LookupError; functions are further ones that values may call.
        """
        self._values = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals or not name.isidentifier():
                raise ParamError(f"parameter {text!r} is not NAME=VALUE")
            if name in self._values:
                raise ParamError(f"parameter {name} is there twice")
            reader = _Reader(name, resolve, functions or {})
            self._values[name] = reader.read(value)

    def __contains__(self, name):
        return name in self._values

    def names(self):
        return list(self._values)

    def get(self, name):
        """One value, without removing it."""
        return self._values[name]

    def take(self, name, *default):
        """Removes and returns one value: a constant, or a Drawn."""
        return self._values.pop(name, *default)

    def take_fixed(self, name, *default):
        """The same for a value that must not be drawn."""
        value = self.take(name, *default)
        if isinstance(value, Drawn):
            raise ParamError(f"parameter {name} must be the same in every call")
        return value

    def expect(self, name, *allowed):
        """Takes a parameter that only states what the operation does anyway."""
        value = self.take(name, allowed[0])
        if value not in allowed:
            raise ParamError(
                f"parameter {name} is {value!r}; only"
                f" {' or '.join(map(repr, allowed))} can be done"
            )

    def take_rest(self):
        """All remaining parameters, as a Bound."""
        rest, self._values = self._values, {}
        return Bound(rest)

    def check_all_taken(self):
        if self._values:
            raise ParamError(
                f"nothing takes parameter {', '.join(self._values)}"
            )


class Bound:
    """Keyword arguments, some of which may be drawn for each call."""

    def __init__(self, values):
        drawn = {k: v for k, v in values.items() if isinstance(v, Drawn)}
        self.fixed = {k: v for k, v in values.items() if k not in drawn}
        self.drawn = [(name, value.draw) for name, value in drawn.items()]

    def __call__(self):
        if not self.drawn:
            return self.fixed
        return {**self.fixed, **{name: draw() for name, draw in self.drawn}}

    def bind(self, function):
        """call(x) = function(x, **arguments), as cheap as possible."""
        if not self.drawn:
            fixed = self.fixed
            return lambda x: function(x, **fixed) if fixed else function(x)
        return lambda x: function(x, **self())


class _Reader:
    def __init__(self, parameter, resolve, functions):
        self._parameter = parameter
        self._resolve = resolve
        self._functions = {**_FUNCTIONS, **functions}

    def read(self, text):
        try:
            tree = ast.parse(_DEGREES.sub(r"radians(\1)", text), mode="eval")
            return self._value(tree.body)
        except (SyntaxError, TypeError, ValueError, ZeroDivisionError) as error:
            raise ParamError(
                f"parameter {self._parameter}: cannot read {text!r}: {error}"
            ) from error

    def _value(self, node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Tuple):
            return self._apply(lambda *items: items, node.elts)
        if isinstance(node, ast.List):
            return self._apply(lambda *items: list(items), node.elts)
        if isinstance(node, ast.Dict):
            return self._dictionary(node)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return self._apply(_OPERATORS[type(node.op)], [node.operand])
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return self._apply(
                _OPERATORS[type(node.op)], [node.left, node.right]
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node)
        raise ValueError(f"{ast.unparse(node)} is not understood")

    def _named(self, name):
        if self._resolve:
            try:
                return self._resolve(self._parameter, name)
            except LookupError:
                pass
        return name

    def _dictionary(self, node):
        if not all(
            isinstance(key, ast.Name | ast.Constant) for key in node.keys
        ):
            raise ValueError("a key must be a name or a constant")
        keys = [
            key.id if isinstance(key, ast.Name) else key.value
            for key in node.keys
        ]
        return self._apply(
            lambda *values: dict(zip(keys, values, strict=True)), node.values
        )

    def _call(self, node):
        if node.keywords:
            raise ValueError("functions take no named arguments")
        if node.func.id == "U" and "U" not in self._functions:
            low, high = (self._value(argument) for argument in node.args)
            return Drawn(lambda: generator.uniform(low, high))
        if node.func.id not in self._functions:
            raise ValueError(f"no function {node.func.id}")
        return self._apply(self._functions[node.func.id], node.args)

    def _apply(self, function, nodes):
        """function(values), once now, or in each call if a value is drawn."""
        values = [self._value(node) for node in nodes]
        if not any(isinstance(value, Drawn) for value in values):
            return function(*values)

        def draw():
            return function(
                *[v.draw() if isinstance(v, Drawn) else v for v in values]
            )

        return Drawn(draw)
