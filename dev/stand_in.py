#!/usr/bin/env python3
"""Makes a library that replaces one that is linked but not used.

    dev/stand_in.py COMPILER OUTPUT REAL USER...

Makes OUTPUT, with the name that REAL is loaded by. It has every symbol of REAL
that a USER, a shared library, needs, with the same version. Calling one returns
zero: FFmpeg asks some of its codecs what they can do when it starts. A
distribution's FFmpeg is linked to 120 libraries that a bundle does not need.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile

_FUNCTION = """extern "C" void* {symbol}() {{ return nullptr; }}
"""


def symbols(library, which):
    """{(name, version)} of nm's list; the version may be empty."""
    listed = subprocess.run(
        ["nm", "-D", which, str(library)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    found = set()
    for line in listed.splitlines():
        name, _, version = line.split()[-1].partition("@")
        found.add((name, version.lstrip("@")))
    return found


def wanted(real, users):
    """Symbols that the users need and the real library has."""
    has = symbols(real, "--defined-only")
    names = {name for name, _ in has}
    asked = set()
    for user in users:
        asked |= symbols(user, "--undefined-only")
    # A user that was linked to another build may ask without a version.
    return sorted(
        one for one in asked if one in has or (not one[1] and one[0] in names)
    )


def version_map(found):
    by_version = collections.defaultdict(list)
    for name, version in found:
        if version:
            by_version[version].append(name)
    return "".join(
        f"{version} {{ global: {' '.join(f'{name};' for name in names)} }};\n"
        for version, names in sorted(by_version.items())
    )


def main(arguments):
    compiler, output, real, *users = arguments
    output = pathlib.Path(output)
    found = wanted(real, users)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "stand_in.cc")
        source.write_text(
            "".join(_FUNCTION.format(symbol=name) for name, _ in found)
        )
        command = [compiler, "-shared", "-fPIC", "-O1", "-w", "-fno-builtin"]
        command += [f"-Wl,-soname,{output.name}", "-s", "-o", str(output)]
        versions = version_map(found)
        if versions:
            path = pathlib.Path(folder, "map")
            path.write_text(versions)
            command.append(f"-Wl,--version-script={path}")
        subprocess.run([*command, str(source)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
