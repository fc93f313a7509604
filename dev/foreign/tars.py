"""Tars of any package: stage_dataset against GNU tar and bsdtar.

A case unpacks to the same tree as with one of them (docs/stage_dataset.md says
what is left out), or is refused for something that the page lists.
"""

import binascii
import hashlib
import os
import pathlib
import re
import stat
import subprocess
import tempfile

import fetch
import outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = ROOT / "bazel-bin/tools/stage_dataset/stage_dataset"
PAGE = "docs/stage_dataset.md"
NAMED = re.compile(r"\.(tar|ustar|pax|tgz)(\.[A-Za-z0-9]+)?(\.uu)?$")
LIMIT_S = 100
LIMIT_BYTES = 1 << 30
# Left out on purpose.
LEFT_OUT = re.compile(
    r"(^|/)(\.DS_Store|\._[^/]*|__MACOSX|\.AppleDouble)(/|$)"
    r"|^\.stage_dataset\."
)

# What we refuse and another unpacks: a part of our reason, which the page has.
STRICTER = [
    "unknown entry type",
    "devices, pipes and sockets are not supported",
    "sparse files are not supported",
    "a NUL within",
    "bad name: it is empty",
    "a lone zero block with more data after it",
    "its name is absolute",
    "; want a plain tar",
    "gzip failed",
    "the archive is cut short",
    "bad extended header",
]

# By name: what we unpack and others do not.
MILDER = {
    "pax-nul-xattrs.tar": "only an extended attribute is bad, and left out",
}


def cases(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and NAMED.search(path.name)
    )


def decoded(path):
    """The bytes of a file, which may be uuencoded."""
    data = path.read_bytes()
    if path.suffix != ".uu":
        return data
    lines = iter(data.splitlines())
    for line in lines:
        if line.startswith(b"begin "):
            break
    parts = []
    for line in lines:
        if line.strip() == b"end":
            break
        try:
            parts.append(binascii.a2b_uu(line))
        except binascii.Error:
            # Some writers pad the last group: the first character counts.
            length = ((line[0] - 32 & 63) * 4 + 5) // 3
            parts.append(binascii.a2b_uu(line[:length]))
    return b"".join(parts)


def tree(folder):
    """Path to all that is promised of an entry."""
    found, first = {}, {}
    for path in sorted(folder.rglob("*"), key=os.fsencode):
        name = os.fsencode(path.relative_to(folder))
        if LEFT_OUT.search(os.fsdecode(name)):
            continue
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            found[name] = ("link", os.readlink(os.fsencode(path)))
        elif stat.S_ISDIR(info.st_mode):
            found[name] = ("folder", info.st_mode & 0o077)
        elif stat.S_ISREG(info.st_mode):
            found[name] = (
                "file",
                info.st_mode & 0o777,
                info.st_mtime_ns,
                hashlib.sha256(path.read_bytes()).hexdigest(),
                first.setdefault(info.st_ino, name),
            )
        else:
            found[name] = ("other",)
    return found


def unpack(command, folder, **options):
    """(whether it did, what it said)"""
    folder.mkdir()
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        timeout=LIMIT_S,
        umask=0o022,
        check=False,
        **options,
    )
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(f"{command[0]}: exit {done.returncode}: {said}")
    return done.returncode == 0, said


def bsdtar():
    folder = fetch.debian_program("libarchive-tools", "libarchive13")
    libraries = ":".join(map(str, (folder / "usr/lib").glob("*-linux-gnu")))
    return folder / "usr/bin/bsdtar", {
        "LD_LIBRARY_PATH": libraries,
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }


def difference(a, b):
    """The first one, in words."""
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            return f"{name!r}: {a.get(name)} where {b.get(name)} is right"
    return ""


def compare(folder, case):
    data = decoded(folder / case)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        archive = work / "case.tar"
        archive.write_bytes(data)
        if data[:2] == b"\x1f\x9d":  # compress: what is in it counts.
            inner = subprocess.run(
                ["gzip", "-dc", archive], capture_output=True, check=False
            ).stdout
            archive.write_bytes(inner)
        found = compare_archive(work, archive)
    why = MILDER.get((folder / case).name)
    if found.word == "unexplained" and why and "refuse" in found.why:
        return outcome.explained(why, PAGE)
    return found


def compare_archive(work, archive):
    flags = [f"--source={archive}", f"--max-bytes={LIMIT_BYTES}", "--no-sync"]
    done, said = unpack([STAGE, *flags, "--dest=."], work / "ours")
    program, environment = bsdtar()
    mild = ["--no-same-owner", "--no-same-permissions"]
    bsd = [program, "-x", *mild, "--no-acls", "--no-xattrs", "-f", archive]
    gnu = ["tar", "-x", *mild, "-f", archive]
    theirs = {
        "bsdtar": unpack(bsd, work / "bsdtar", env=environment),
        "GNU tar": unpack(gnu, work / "GNU tar"),
    }
    if not done:
        last = said.splitlines()[-1] if said else ""
        why = re.sub(r".*case\.tar: |stage_dataset: ", "", last)
        if not any(well for well, _ in theirs.values()):
            return outcome.refused(why)
        if any(part in why for part in STRICTER):
            return outcome.refused(f"{why} ({PAGE})")
        names = [name for name, (well, _) in theirs.items() if well]
        return outcome.unexplained(f"{' and '.join(names)} unpack it; {why}")
    ours = tree(work / "ours")
    differences = []
    for name, (well, complaint) in theirs.items():
        wrong = (
            difference(ours, tree(work / name))
            if well
            else f"refuses: {complaint}"
        )
        if not wrong:
            return outcome.equal()
        differences.append(f"{name}: {wrong[-200:]}")
    return outcome.unexplained("; ".join(differences))
