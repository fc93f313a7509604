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
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
# A harmless cheat takes at least this share of the time of honest work, both in
# their fastest call. A busy machine gets several tries.
LEAST_SHARE = 0.7
TRIES = 3


def cheats():
    """(name, what it does, outcome, why) of each module, which is not run."""
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in ("honest", "honest_libraries", "libraries", "run"):
            continue
        if path.stem == "cheats":  # See entries().
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


def entries():
    """The same of each function of cheats.py that has a decorator."""
    for node in ast.parse((FOLDER / "cheats.py").read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            said = node.decorator_list[0]
            what = ast.get_docstring(node)
            yield f"cheats:{node.name}", what, said.func.id, said.args[0].value


def make_pictures(folder, height=192, width=240, block=4):
    """Makes folder/pictures. They are small, so that a run takes seconds."""
    pictures = folder / "pictures"
    pictures.mkdir()
    source = random.Random(1)
    for i in range(8):
        data = f"P6 {width} {height} 255\n".encode()
        for _ in range(height // block):
            row = (source.randbytes(3) * block for _ in range(width // block))
            data += b"".join(row) * block
        (pictures / f"{i}.ppm").write_bytes(data)


def measure(
    flags, folder, subjects, reference="honest:reference", flags_of_run=()
):
    command = [
        *(
            str(pathlib.Path(flags.micro).resolve()),
            "--distrust",
            "--format=jsonl",
            "--num_runs=1",
        ),
        *(f"--num_items={flags.items}", f"--python={flags.python}"),
        *(f"--reference={reference}", "--quiet_wait=0", *flags_of_run),
        f"--dataset={folder / 'pictures'}",
        *("--stable_within=0", f"--timeout={flags.timeout}"),
        *(f"--subject={one}" for one in subjects),
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [r for r in rows if r["record"] == "row" and r["library"] != "null"]
    if not rows:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return rows


def fastest_s(rows):
    """Of the last row: a disturbed run is measured again."""
    return min(rows[-1]["samples_s"])


def outcome(flags, folder, name):
    """What became of it, why, and its last row."""
    subject = name if ":" in name else f"{name}:sharpen"
    for _ in range(TRIES):
        # They take turns, so that what else the machine does affects both.
        rows = measure(flags, folder, [subject, "honest:work"])
        own = [row for row in rows if row["library"] == subject]
        work = [row for row in rows if row["library"] == "honest:work"]
        if own[-1]["status"] != "ok":
            reason = f"{own[-1]['status']}: {own[-1]['reason']}"
            return "caught", reason, own[-1]
        share = fastest_s(own) / fastest_s(work)
        reason = f"{share:.2f} of the time of honest work"
        if share >= LEAST_SHARE:
            return "harmless", reason, own[-1]
    return "PAID", reason, own[-1]


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
        make_pictures(folder)
        honest = measure(flags, folder, ["honest:ways"])
        for row in honest:
            if row["status"] != "ok":
                print(f"ACCUSED {row['transform']}: {row['reason']}")
                wrong += 1
        for name, what, expected, why in (*entries(), *cheats()):
            if flags.only and name.split(":")[-1] not in flags.only.split(","):
                continue
            found, reason, row = outcome(flags, folder, name)
            if name == "escapes" and "not_confined" in row["labels"]:
                print(f"left out {name}: this kernel confines nothing")
                continue
            mark = "" if found == expected else f" (not {expected})"
            wrong += bool(mark)
            print(f"{found}{mark} {name}: {what}\n    {why}\n    {reason}")
    print(f"{len(honest)} honest, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
