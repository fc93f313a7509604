#!/usr/bin/env python3
"""Every command and flag of testdata/campaign/gcloud_commands.txt is known to
Google's own client, whose package has a table of them for completion.

The stand-in for the client refuses what is not in that list, so what emitted
scripts call is in this table too. Skipped (77) where the client is not
installed; GCLOUD_ROOT names its folder.
"""

import ast
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = pathlib.Path(os.environ.get("GCLOUD_ROOT", "/usr/lib/google-cloud-sdk"))
TABLE = SDK / "data/cli/gcloud_completions.py"


def listed():
    """Lines of the list: (words of the command, [(flag, pattern)])."""
    commands = []
    path = ROOT / "testdata/campaign/gcloud_commands.txt"
    for line in path.read_text().splitlines():
        text = line.split("#")[0].rstrip()
        if text.startswith(" "):
            flag, _, pattern = text.strip(" !").partition("=")
            commands[-1][1].append((flag, pattern))
        elif text:
            words = re.match(r"[a-z]+( [a-z]+(?= |$))*", text)[0].split(" ")
            commands.append((words, []))
    return commands


def mistakes(table, commands):
    for words, flags in commands:
        node, known = table, dict(table["flags"])
        for word in words:
            node = node.get("commands", {}).get(word)
            if node is None:
                yield f"no command {' '.join(words)}"
                break
            known.update(node.get("flags", {}))
        else:
            for flag, pattern in flags:
                kind = known.get(flag.replace("--no-", "--")) or known.get(flag)
                if kind is None:
                    yield f"{' '.join(words)}: no flag {flag}"
                elif isinstance(kind, list) and pattern not in kind:
                    yield f"{' '.join(words)}: {flag} is not {pattern}: {kind}"
                elif (kind == "bool") != (pattern == ""):
                    yield f"{' '.join(words)}: {flag} is {kind}"


def main():
    if not TABLE.exists():
        print("Google's client is not installed; GCLOUD_ROOT names its folder")
        return 77
    text = TABLE.read_text()
    table = ast.literal_eval(text[text.index("{") :])
    # What must be found out, so that a table of another shape is not accepted.
    wrong = [
        (
            ["compute", "instances", "create"],
            [("--provisioning-model", "SPOTTY")],
        ),
        (["compute", "instances", "delete"], [("--no-such-flag", "")]),
        (["compute", "machines"], []),
    ]
    found = list(mistakes(table, wrong))
    assert len(found) == 3, found
    commands = listed()
    found = list(mistakes(table, commands))
    version = (SDK / "VERSION").read_text().strip()
    flags = sum(len(flags) for _, flags in commands)
    for line in found:
        print(line)
    print(
        f"{len(commands)} commands, {flags} flags, Google Cloud SDK {version}"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
