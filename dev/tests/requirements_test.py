#!/usr/bin/env python3
"""Lock files of the libraries under test pin what the configs say.

The set `paper` has the versions of configs/matrix.textproto and
configs/policy.textproto; every group that the matrix names has a lock in the
set `current`, and in every set if the paper has a version of one of its
libraries; a lock pins what its list names, and every package has hashes.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "lib/adapters/python"))

from testing.textproto import all_of, one_of, parse  # noqa: E402

SETS = ROOT / "configs/requirements"
# Named by the policy, but feedrate has a timing loop of its own.
NOT_INSTALLED = {"pyperf"}
# Groups of libraries that only other programs measure.
OTHERS = {"albumentations_mit"}


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins_of(path, head=""):
    """Package to version; of its list with the head `#: `."""
    text = path.read_text()
    found = re.findall(rf"(?m)^{head}([\w.-]+)==([^\s\\;]+)", text)
    return {canonical(name): version for name, version in found}


def faults_of_lock(lock):
    pins = pins_of(lock)
    for name, version in pins_of(lock, "#: ").items():
        if pins.get(name) != version:
            yield f"{lock}: {name} is {pins.get(name)}, its list has {version}"
    for entry in re.split(r"(?m)^(?=\w)", lock.read_text())[1:]:
        if "--hash=sha256:" not in entry:
            yield f"{lock}: no hash of {entry.split()[0]}"


def faults_of_paper(matrix, policy):
    wanted = {}
    for library in all_of(matrix, "libraries"):
        if one_of(library, "paper_version") and one_of(library, "env_group"):
            lock = SETS / "paper" / f"{one_of(library, 'env_group')}.lock"
            pin = (one_of(library, "name"), one_of(library, "paper_version"))
            wanted.setdefault(lock, []).append(pin)
    shared = [
        (one_of(pinned, "package"), one_of(pinned, "version"))
        for pinned in all_of(policy, "pinned_versions")
    ]
    everywhere = set()
    for lock, pins in wanted.items():
        have = pins_of(lock)
        everywhere |= have.keys()
        for name, version in pins:
            if have.get(name) != version:
                yield f"{lock}: {name} is {have.get(name)}, not {version}"
        for name, version in shared:
            if have.get(name, version) != version:
                yield f"{lock}: {name} is {have[name]}, not {version}"
    for name, _ in shared:
        if name not in everywhere | NOT_INSTALLED:
            yield f"no lock of the set paper has {name}"


def faults_of_sets(matrix):
    libraries = all_of(matrix, "libraries")
    groups = {one_of(lib, "env_group") for lib in libraries} - {""} - OTHERS
    of_paper = {
        one_of(lib, "env_group")
        for lib in libraries
        if one_of(lib, "paper_version")
    }
    for folder in sorted(SETS.iterdir()):
        here = groups if folder.name == "current" else groups & of_paper
        for group in sorted(here):
            if not (folder / f"{group}.lock").is_file():
                yield f"{folder}: no lock of the group {group}"


def main():
    matrix = parse((ROOT / "configs/matrix.textproto").read_text())
    policy = parse((ROOT / "configs/policy.textproto").read_text())
    locks = sorted(SETS.glob("*/*.lock"))
    faults = [fault for lock in locks for fault in faults_of_lock(lock)]
    faults += faults_of_sets(matrix)
    faults += faults_of_paper(matrix, policy)
    for fault in faults:
        print(fault.replace(f"{ROOT}/", ""))
    print(f"{len(locks)} locks, {len(faults)} faults")
    return 1 if faults or not locks else 0


if __name__ == "__main__":
    sys.exit(main())
