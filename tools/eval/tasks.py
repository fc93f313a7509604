#!/usr/bin/env python3
"""Generates what eval's checkpoint is trained on, its probes and its shard.

    tasks.py --train=FILE [--lines=N]   text to train on
    tasks.py --data=FOLDER              probes as JSONL, and the shard

Everything comes from fixed seeds: two calls write the same bytes. A line of
text is one task, `prompt answer`; a probe asks for the answer. Probes and shard
are drawn from other seeds than the text, so that some of their tasks were never
trained on.
"""

import argparse
import json
import pathlib
import random

WORDS = [
    "cat",
    "dog",
    "sun",
    "map",
    "red",
    "blue",
    "tree",
    "fish",
    "bird",
    "rock",
    "wind",
    "rain",
]
VARIABLES = ("a, b", "x, y", "c, d", "n, m")


def reasoning(r):
    """(prompt, answer) of one small question."""
    a, b = r.randint(0, 7), r.randint(0, 7)
    return r.choice(
        [
            lambda: (f"{a} plus {b} is", str(a + b)),
            lambda: (f"larger of {a} and {b} is", str(max(a, b))),
            lambda: (f"smaller of {a} and {b} is", str(min(a, b))),
            lambda: (f"is {a} more than {b}?", "yes" if a > b else "no"),
            lambda: (f"after {a} comes", str(a + 1)),
        ]
    )()


def formatting(r):
    """The same for doing as one is told."""
    word, n = r.choice(WORDS), r.randint(2, 4)
    return r.choice(
        [
            lambda: (f"upper {word}:", word.upper()),
            lambda: (f"quote {word}:", f'"{word}"'),
            lambda: (f"list {word}:", f"[{word}]"),
            lambda: (f"repeat {word[0]} {n}:", word[0] * n),
            lambda: (f"key {word} value {n}:", f"{{{word}: {n}}}"),
            lambda: (f"first of {word}:", word[0]),
        ]
    )()


def code(r):
    """The same for programs."""
    a, b = r.choice(VARIABLES).split(", ")
    opened = "".join(r.choice("([{") for _ in range(r.randint(1, 2)))
    closed = opened[::-1].translate(str.maketrans("([{", ")]}"))
    n = r.randint(2, 9)
    return r.choice(
        [
            lambda: (f"def add({a}, {b}): return", f"{a} + {b}"),
            lambda: (f"def mul({a}, {b}): return", f"{a} * {b}"),
            lambda: (f"close {opened}", closed),
            lambda: (f"len(range({n})) ==", str(n)),
            lambda: (f"for {a} in range({n}): print", f"({a})"),
        ]
    )()


def line(r):
    prompt, answer = r.choice([reasoning, formatting, code])(r)
    return f"{prompt} {answer}\n"


def text(seed, lines):
    r = random.Random(seed)
    return "".join(line(r) for _ in range(lines))


def probe(kind, count, seed):
    """`count` tasks, no prompt twice; some are scored by a pattern."""
    r = random.Random(seed)
    items = {}
    while len(items) < count:
        prompt, answer = kind(r)
        item = {"prompt": prompt + " ", "answer": answer}
        if answer.startswith("{"):
            # Spaces are a matter of taste in an object of one key.
            key, value = answer[1:-1].split(": ")
            item = {
                "prompt": prompt + " ",
                "pattern": rf"\{{\s*{key}:\s*{value}\s*\}}",
            }
        items[prompt] = item
    return "".join(json.dumps(item) + "\n" for item in items.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=40000)
    parser.add_argument("--data", type=pathlib.Path)
    args = parser.parse_args()
    if args.train:
        args.train.write_text(text(1, args.lines))
    if args.data:
        args.data.mkdir(parents=True, exist_ok=True)
        files = {
            "shard.txt": text(2, 400),
            "basic_reasoning_25.jsonl": probe(reasoning, 25, 3),
            "format_following_30.jsonl": probe(formatting, 30, 4),
            "code_sanity_20.jsonl": probe(code, 20, 5),
        }
        for name, content in files.items():
            (args.data / name).write_text(content)


if __name__ == "__main__":
    main()
