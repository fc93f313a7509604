#!/usr/bin/env python3
"""Audits trainings on released loaders that are known to be wrong, and on the
versions or loops that mended them.

    pairs.py AUDIT [--only=NAME,...] [--envs=FOLDER] [--markdown=FILE]

Environments are made by `uv`, which must be on the PATH; they take about 3 GB
in all, most of it torch, and stay in FOLDER for the next call.
The exit code is 1 if a fault is not accused in the right words, or if what
mended it is accused.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ["torch==2.15.0", "numpy==2.1.3"]
NEVER = r"never seen after the \w+ restart"
TWICE = "seen twice"

# Name, thread, faulty, mended (None: the same version with another loop),
# words, flags.
PAIRS = [
    (
        "accelerate_skips",
        "huggingface/accelerate#2016",
        ["accelerate==1.10.1"],
        ["accelerate==1.15.0"],
        NEVER,
        ["--seed=2"],
    ),
    (
        "accelerate_next_epoch",
        "huggingface/accelerate#4233",
        ["accelerate==1.15.0"],
        None,
        "has the order of epoch",
        ["--seed=2"],
    ),
    (
        "accelerate_default",
        "huggingface/accelerate#4233",
        ["accelerate==1.15.0"],
        None,
        NEVER,
        [],
    ),
    (
        "datasets_twice",
        "huggingface/datasets#8308",
        ["datasets==5.0.0"],
        ["datasets==5.2.0"],
        TWICE,
        ["--kills=2"],
    ),
    (
        "datasets_filter",
        "huggingface/datasets#8359",
        ["datasets==5.0.0"],
        ["datasets==5.2.0"],
        NEVER,
        [],
    ),
    (
        "datasets_buffer",
        "huggingface/datasets#7901",
        ["datasets==5.2.0"],
        None,
        NEVER,
        [],
    ),
    (
        "datasets_workers",
        "huggingface/datasets#7447",
        ["datasets==3.3.2", "torchdata==0.11.0"],
        ["datasets==3.4.1", "torchdata==0.11.0"],
        "never seen",
        [],
    ),
    (
        "torchdata_epoch_end",
        "meta-pytorch/data#1437",
        ["torchdata==0.10.1"],
        ["torchdata==0.11.0"],
        "ended after",
        [],
    ),
    (
        "lightning_first_epoch",
        "Lightning-AI/pytorch-lightning#21938",
        ["lightning==2.6.0"],
        ["lightning==2.5.2"],
        "has the order of epoch 1",
        ["--seed=2"],
    ),
    (
        "webdataset_shards",
        "webdataset/webdataset#502",
        ["webdataset==1.0.2"],
        ["webdataset==0.2.86"],
        "has the order of epoch 1",
        ["--kills=0"],
    ),
    (
        "webdataset_detshuffle",
        "webdataset/webdataset#172",
        ["webdataset==1.0.2"],
        None,
        "has the order of epoch 1",
        ["--kills=0"],
    ),
    (
        "litdata_parallel",
        "Lightning-AI/litData#760",
        ["litdata==0.2.58"],
        ["litdata==0.2.76"],
        "epoch 3 has the order of epoch 2",
        ["--kills=0"],
    ),
    (
        "lerobot_resume",
        "huggingface/lerobot#3769",
        ["lerobot==0.5.1"],
        ["lerobot==0.6.1"],
        TWICE,
        ["--seed=2"],
    ),
    (
        "mosaicml_epoch_end",
        "mosaicml/streaming#869",
        ["mosaicml-streaming==0.13.0"],
        None,
        "ended after",
        [],
    ),
    (
        "jax_key",
        "a training of JAX whose key is in no checkpoint",
        ["jax==0.10.2"],
        None,
        f"{NEVER}.*{TWICE}",
        ["--seed=2"],
    ),
]
# Of these only modules of a folder are used that need no other package, so
# their own needs, also of a newer Python, are left out.
ALONE = {"lerobot": "lerobot/datasets"}


def python_of(pins, envs):
    """The Python of an environment with these packages."""
    place = envs / "-".join(re.sub(r"[^\w.]+", "_", pin) for pin in pins)
    python = place / "bin/python"
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run(
            ["uv", "venv", "-q", f"--python={sys.executable}", place],
            check=True,
        )
        install = ["uv", "pip", "install", "-q", f"--python={python}"]
        alone = [pin for pin in pins if pin.split("==")[0] in ALONE]
        packages = [*COMMON, *(pin for pin in pins if pin not in alone)]
        subprocess.run([*install, *packages], check=True)
        target = [f"--target={place}/alone", "--python-version=3.13"]
        for pin in alone:
            subprocess.run([*install, "--no-deps", *target, pin], check=True)
            (site,) = place.glob("lib/python3*/site-packages")
            folder = place / "alone" / ALONE[pin.split("==")[0]]
            (site / "alone.pth").write_text(f"{folder}\n")
        (place / "made").touch()
    return python


def audit(options, python, name, flags, words):
    """(exit code, what it said)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        ids = root / "ids"
        ids.mkdir()
        manifest = {
            "schema": 1,
            "record": "audit_items",
            "layout": "folder",
            "items": 96,
        }
        (ids / "feedrate_audit.json").write_text(json.dumps(manifest))
        out = root / "out"
        done = subprocess.run(
            [
                os.path.abspath(options.audit),
                f"--dataset={ids}",
                f"--prepare=rm -rf {shlex.quote(str(out))}; mkdir {out}",
                "--timeout=600",
                *flags,
                "--",
                python,
                HERE / "pairs_training.py",
                name,
                out,
                *words,
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    record = json.loads(done.stdout or "{}")
    said = [*record.get("faults", []), record.get("reason", "")]
    if done.returncode in (1, 2):
        said = done.stderr.strip().splitlines()[-4:]
    return done.returncode, "; ".join(filter(None, said))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("audit")
    parser.add_argument("--only", default="")
    parser.add_argument("--envs", type=pathlib.Path, default="pair_envs")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    envs = options.envs.absolute()
    rows = [
        "| fault, and where it was reported | release with the fault | what"
        " `audit` says of it | what mends it | what `audit` says then |",
        "|---|---|---|---|---|",
    ]
    wrong = 0
    for name, thread, faulty, mended, words, flags in PAIRS:
        if options.only and name not in options.only.split(","):
            continue
        python = python_of(faulty, envs)
        code, said = audit(options, python, name, flags, [])
        if mended is not None:
            python = python_of(mended, envs)
        loop = ["mended"] if mended is None else []
        other_code, other = audit(options, python, name, flags, loop)
        good = code == 3 and re.search(words, said) and other_code == 0
        wrong += not good
        other = other or {0: "pass"}.get(other_code, f"exit code {other_code}")
        cells = [
            thread,
            " ".join(faulty),
            said,
            " ".join(mended or ["the same, another loop"]),
            other,
        ]
        rows.append("| " + " | ".join(cells) + " |")
        print("ok   " if good else "WRONG", name, code, other_code)
        print("     ", said, "\n     ", other, flush=True)
    if options.markdown:
        pathlib.Path(options.markdown).write_text("\n".join(rows) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
