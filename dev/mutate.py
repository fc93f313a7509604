#!/usr/bin/env python3
"""Finds conditions and constants that no test checks.

    dev/mutate.py lib/stats lib/gate --count=30 --seed=1
    dev/mutate.py lib/tar/reader.cc --tests=//lib/tar/...

Changes one place of the C++ code at a time (`<` to `<=`, `&&` to `||`, `+` to
`-`, a number to the next, a condition to its opposite), builds, and runs the
tests of the file's package. A change that every test passes has survived: a
test is missing, or the place does not matter. Prints a line per change, then
the counts. The sample depends on the seed and on the files only.

Files are changed in place and restored; a file that git calls changed is
refused, so `git checkout FILE` always repairs a killed run. Exits with 1 if the
tests fail without any change.
"""

import argparse
import collections
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

Mutant = collections.namedtuple("Mutant", "path line start end new")

# Operators have spaces around them, as clang-format writes them; that tells a
# comparison from a template.
SWAPS = [
    (r"(?<= )<(?= )", "<="),
    (r"(?<= )<=(?= )", "<"),
    (r"(?<= )>(?= )", ">="),
    (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="),
    (r"(?<= )!=(?= )", "=="),
    (r"(?<= )&&(?=\s|$)", "||"),
    (r"(?<= )\|\|(?=\s|$)", "&&"),
    (r"(?<=[\w)\]] )\+(?= )", "-"),
    (r"(?<=[\w)\]] )-(?= )", "+"),
    (r"(?<=[\w)\]] )\*(?= [\w(])", "/"),
    (r"(?<=[\w)\]] )/(?= [\w(])", "*"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bstd::min\b", "std::max"),
    (r"\bstd::max\b", "std::min"),
]
NUMBER = re.compile(r"(?<![\w.\"])(\d+\.\d+(?:e-?\d+)?|\d+e-?\d+|\d+)(?![\w.])")
CONDITION = re.compile(r"\b(?:if|while) \((?!const |auto )")
SKIPPED = re.compile(r"^\s*(//|#|static_assert|CHECK|DCHECK)")


def code_of(line):
    """The line with texts and comments blanked, so that places stay."""
    line = re.sub(
        r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'',
        lambda found: "\x00" * len(found.group()),
        line,
    )
    return re.sub(r"//.*", lambda found: "\x00" * len(found.group()), line)


def other_number(text):
    if re.fullmatch(r"\d+", text):
        return str(int(text) + 1)
    return repr(2 * float(text) or 1.0)


def closing(code, start):
    """The place behind the bracket that closes the one before `start`, or
    None if that is on another line."""
    depth = 1
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return None


def mutants_of_line(path, number, line):
    if SKIPPED.match(line):
        return
    code = code_of(line)
    for pattern, new in SWAPS:
        for found in re.finditer(pattern, code):
            yield Mutant(path, number, found.start(), found.end(), new)
    for found in NUMBER.finditer(code):
        new = other_number(found.group())
        yield Mutant(path, number, found.start(), found.end(), new)
    for found in CONDITION.finditer(code):
        end = closing(code, found.end())
        if end is not None:
            new = f"!({line[found.end() : end]})"
            yield Mutant(path, number, found.end(), end, new)


def mutants_of(path):
    """All mutants of one file."""
    lines = (ROOT / path).read_text().splitlines()
    return [
        mutant
        for number, line in enumerate(lines, 1)
        for mutant in mutants_of_line(path, number, line)
    ]


def is_mutated(path):
    name = path.name
    return path.suffix in (".cc", ".h") and not re.search(
        r"(_test|_fuzz|_main|_benchmark)\.cc$|testing|slow_|clock_jump", name
    )


def files_of(arguments):
    files = []
    for argument in arguments:
        path = pathlib.Path(argument)
        found = (
            sorted((ROOT / path).rglob("*")) if (ROOT / path).is_dir() else []
        )
        files += [
            file.relative_to(ROOT)
            for file in found
            if is_mutated(file) and "testing" not in file.parts
        ]
        if not found:
            files.append(path)
    return files


def changed(mutant, text):
    """The text of the file with the mutant in it."""
    lines = text.splitlines(keepends=True)
    line = lines[mutant.line - 1]
    lines[mutant.line - 1] = (
        line[: mutant.start] + mutant.new + line[mutant.end :]
    )
    return "".join(lines)


def describe(mutant):
    line = (ROOT / mutant.path).read_text().splitlines()[mutant.line - 1]
    old = line[mutant.start : mutant.end]
    place = f"{mutant.path}:{mutant.line}"
    return f"{place}: {old} -> {mutant.new}  in: {line.strip()}"


def run_tests(tests, limit_s):
    """What Bazel says of the tests: "passed", "failed" or "no build"."""
    command = ["dev/bazel.sh", "test", "--build_tests_only", "--keep_going"]
    command += [f"--test_timeout={limit_s}", "--noshow_progress", *tests]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode == 0:
        return "passed"
    return "failed" if done.returncode == 3 else f"no build\n{output[-2000:]}"


def judge(mutant, tests, limit_s):
    path = ROOT / mutant.path
    text = path.read_text()
    try:
        path.write_text(changed(mutant, text))
        answer = run_tests(tests, limit_s)
    finally:
        path.write_text(text)
    words = {"passed": "SURVIVED", "failed": "killed"}
    return words.get(answer.split("\n")[0], "no build")


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", help="files or folders of C++")
    parser.add_argument("--count", type=int, default=30, help="mutants to try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes", type=float, default=60, help="start none after this time"
    )
    parser.add_argument("--test-timeout", type=int, default=120, metavar="S")
    parser.add_argument(
        "--tests",
        nargs="*",
        help="labels; default: the tests of the file's package and below",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the sample and run nothing"
    )
    return parser.parse_args(arguments)


def main():
    flags = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    files = files_of(flags.paths)
    status = subprocess.check_output(
        ["git", "status", "--porcelain", "--", *map(str, files)], cwd=ROOT
    )
    if status and not flags.list:
        sys.exit(f"commit or stash first:\n{status.decode()}")
    found = [mutant for file in files for mutant in mutants_of(file)]
    sample = random.Random(flags.seed).sample(
        found, min(flags.count, len(found))
    )
    print(
        f"{len(sample)} of {len(found)} mutants in {len(files)} files",
        flush=True,
    )
    if flags.list:
        for mutant in sample:
            print(describe(mutant))
        return 0

    def tests_of(path):
        return flags.tests or [f"//{path.parent}/..."]

    everything = sorted({t for file in files for t in tests_of(file)})
    if run_tests(everything, flags.test_timeout) != "passed":
        sys.exit("the tests fail without any change")
    counts, survivors = collections.Counter(), []
    end = time.monotonic() + 60 * flags.minutes
    for mutant in sample:
        if time.monotonic() > end:
            print(f"stopped after {flags.minutes:g} minutes")
            break
        text = describe(mutant)
        result = judge(mutant, tests_of(mutant.path), flags.test_timeout)
        counts[result] += 1
        survivors += [text] if result == "SURVIVED" else []
        print(f"{result:8} {text}", flush=True)
    for text in survivors:
        print("SURVIVED", text)
    print(
        f"{counts['killed']} killed, {counts['SURVIVED']} survived,"
        f" {counts['no build']} did not build"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
