#!/usr/bin/env python3
"""Measures the cheats of this folder without trust, and honest code besides.

    tools/micro/cheats/run.py --micro=PROGRAM --python=INTERPRETER

Each cheat says what it does, what must become of it and why: `caught` is a row
that failed, `harmless` one that is no faster than honest work. Prints a table,
and ends with 1 if anything else happens, or if honest code is accused.
"""

import argparse
import ast
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
# A harmless cheat takes at least this share of the time of honest work. Both
# are the fastest calls: the machine may be busy.
LEAST_SHARE = 0.6


# Small, so that a run takes seconds. The interpreter that runs the cheats has
# Pillow.
PICTURES = """
import sys
import numpy as np
from PIL import Image
rng = np.random.default_rng(1)
for i in range(8):
    few = rng.integers(0, 256, (48, 60, 3), np.uint8)
    Image.fromarray(few).resize((240, 192)).save(f"{sys.argv[1]}/{i}.jpg")
"""


def cheats():
    """(name, what it does, outcome, why) of each module, which is not run."""
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in ("honest", "run"):
            continue
        tree = ast.parse(path.read_text())
        said = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        yield (
            path.stem,
            ast.get_docstring(tree),
            said["OUTCOME"],
            said["WHY"],
        )


def measure(flags, folder, subjects):
    command = [
        *(
            str(pathlib.Path(flags.micro).resolve()),
            "--distrust",
            "--format=jsonl",
            "--num_runs=1",
        ),
        *(f"--num_items={flags.items}", f"--python={flags.python}"),
        *("--reference=honest:reference", "--quiet_wait=0"),
        f"--dataset={folder / 'pictures'}",
        *("--stable_within=0", f"--timeout={flags.timeout}"),
        *(f"--subject={one}" for one in subjects),
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [r for r in rows if r["record"] == "row" and r["library"] != "null"]
    if not rows:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return rows


def outcome(row, honest_s):
    """What became of it, and why."""
    if row["status"] != "ok":
        return "caught", f"{row['status']}: {row['reason']}"
    share = min(row["samples_s"]) / honest_s
    word = "harmless" if share >= LEAST_SHARE else "PAID"
    return word, f"{share:.2f} of the time of honest work"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--micro", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--items", type=int, default=8)
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--only", default="", help="names, with commas between")
    flags = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        # Some would write into it.
        folder = pathlib.Path(work) / "cheats"
        shutil.copytree(FOLDER, folder)
        pictures = folder / "pictures"
        pictures.mkdir()
        subprocess.run([flags.python, "-c", PICTURES, pictures], check=True)
        honest = measure(flags, folder, ["honest:ways"])
        for row in honest:
            if row["status"] != "ok":
                print(f"ACCUSED {row['transform']}: {row['reason']}")
                wrong += 1
        honest_s = min(
            min(r["samples_s"])
            for r in honest
            if r["transform"] == "sharpen" and r["status"] == "ok"
        )
        for name, what, expected, why in cheats():
            if flags.only and name not in flags.only.split(","):
                continue
            # A disturbed run is measured again.
            row = measure(flags, folder, [f"{name}:sharpen"])[-1]
            if name == "escapes" and "not_confined" in row["labels"]:
                print(f"left out {name}: this kernel confines nothing")
                continue
            found, reason = outcome(row, honest_s)
            mark = "" if found == expected else f" (not {expected})"
            wrong += bool(mark)
            print(f"{found}{mark} {name}: {what}\n    {why}\n    {reason}")
    print(f"{len(honest)} honest, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
