#!/usr/bin/env python3
"""Checks conventions of BUILD files that no installed formatter checks.

Every BUILD, .bzl, WORKSPACE and MODULE.bazel file parses as Starlark, has no
tabs or trailing spaces, and indents by four. Lists of labels are sorted as
buildifier sorts them. C++ rules are loaded from rules_cc, because newer
versions of Bazel have no native ones. Prints one line per fault.
"""

import ast
import pathlib
import re
import subprocess
import sys

import starlark

ROOT = pathlib.Path(__file__).resolve().parent.parent
SORTED = (
    "deps",
    "test_deps",
    "srcs",
    "hdrs",
    "data",
    "textual_hdrs",
    "visibility",
)
CC_RULES = ("cc_binary", "cc_import", "cc_library", "cc_test")
PATTERNS = ("*BUILD", "*.bzl", "WORKSPACE", "MODULE.bazel")


def label_order(label):
    """Buildifier's order: files, then :local, then //here, then @there."""
    rank = 1 if label[:1] == ":" else 2 if label[:2] == "//" else 0
    rank = 3 if label[:1] == "@" else rank
    return rank, re.sub(r"[:.]", lambda m: "!" if m[0] == ":" else '"', label)


def literal_strings(node):
    """The strings of a list of nothing but strings, else None."""
    if not isinstance(node, ast.List):
        return None
    values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
    return values if len(values) == len(node.elts) else None


def call_faults(tree, is_build_file):
    """Faults of rule calls, as (line, text)."""
    loaded = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(
            node.func, ast.Name
        ):
            continue
        if node.func.id == "load":
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
            loaded.update(names[1:])
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(
            node.func, ast.Name
        ):
            continue
        rule = node.func.id
        if is_build_file and rule in CC_RULES and rule not in loaded:
            yield (
                node.lineno,
                f'{rule} is not loaded; add load("@rules_cc//cc:defs.bzl", '
                f'"{rule}")',
            )
        for keyword in node.keywords:
            values = literal_strings(keyword.value)
            if keyword.arg not in SORTED or not values:
                continue
            if values != sorted(values, key=label_order):
                yield keyword.value.lineno, f"{keyword.arg} is not sorted"
            elif len(set(values)) != len(values):
                yield keyword.value.lineno, f"{keyword.arg} repeats a label"


def line_faults(text):
    """Faults of white space, as (line, text)."""
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "white space at the end"
        if "\t" in line:
            yield number, "a tab"
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield text.count("\n"), "should end with one newline"


def faults(name, text):
    """All faults of one file, as (line, text), in order."""
    found = list(line_faults(text))
    try:
        starlark.parse(name, text, dialect=starlark.Dialect.extended())
        # Starlark's syntax is a subset of Python's, so ast reads it too.
        tree = ast.parse(text)
    except (starlark.StarlarkError, SyntaxError) as error:
        return found + [(1, f"does not parse: {error}")]
    is_build_file = pathlib.Path(name).name in ("BUILD", "BUILD.bazel")
    return sorted(found + list(call_faults(tree, is_build_file)))


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *PATTERNS],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.split()
    count = 0
    for name in sorted(listed):
        path = ROOT / name
        if path.is_file():
            for line, text in faults(name, path.read_text()):
                print(f"{name}:{line}: {text}", file=sys.stderr)
                count += 1
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
