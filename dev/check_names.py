#!/usr/bin/env python3
"""Checks that no two types of C++ have the same name, messages included.

The linker takes the functions that the compiler makes for a type, such as its
copy, from any file that has a type of that name: a program with two of them
copies one as if it were the other, and whether it does depends on what was
inlined. Exits 1 with one line per name.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("*.h", "*.cc", "*.cuh", "*.cu")
# What may contain braces and is none.
SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""
    r"""|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""",
    re.DOTALL,
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?"
    r"(?:struct|class|union|enum(?: class)?)\s+"
    r"(?:\[\[.*?\]\]\s*|alignas\([^)]*\)\s*)*(\w+)"
    r"(?:\s+final)?\s*(?::[^:].*)?$",
    re.DOTALL,
)


def types_of(text):
    """The types in named namespaces, such as feedrate::fused::Rgb."""
    text = SKIPPED.sub(" ", text)
    # Preprocessor lines are no part of a declaration.
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    # What each open brace opens: a namespace by name, "" for one without a
    # name, None for anything else.
    spaces, start = [], 0
    for brace in re.finditer(r"[{};]", text):
        head, start = text[start : brace.start()], brace.end()
        if brace[0] == "}" and spaces:
            spaces.pop()
        if brace[0] != "{":
            continue
        namespace = NAMESPACE.search(head)
        kind = TYPE.match(head)
        if kind and all(spaces):
            yield "::".join([*spaces, kind[1]])
        spaces.append(namespace[1] if namespace else None)


def messages_of(text):
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    namespace = package[1].replace(".", "::") + "::" if package else ""
    for name in re.findall(r"^(?:message|enum) (\w+)", text, re.MULTILINE):
        yield namespace + name


def files(*patterns):
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in listed.stdout.split()]


def main():
    places = collections.defaultdict(set)
    for patterns, names_of in ((SOURCES, types_of), (["*.proto"], messages_of)):
        for file in files(*patterns):
            if not file.exists():
                continue
            for name in names_of(file.read_text()):
                places[name].add(str(file.relative_to(ROOT)))
    # A pattern that finds nothing would find no fault either.
    assert len(places) > 500, f"only {len(places)} types"
    twice = {name: some for name, some in places.items() if len(some) > 1}
    for name, some in sorted(twice.items()):
        print(f"{name} is two types, rename one: {', '.join(sorted(some))}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
