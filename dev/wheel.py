#!/usr/bin/env python3
"""Writes a wheel: the package in python/feedrate with a bundle in it.

    dev/wheel.py BUNDLE DIST PLATFORM

BUNDLE is the folder feedrate-VERSION-linux-ARCH of dev/bundle.sh; PLATFORM is a
tag such as manylinux_2_34_x86_64. Prints the path of the wheel. The same input
gives the same bytes.
"""

import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

METADATA = """\
Metadata-Version: 2.1
Name: feedrate
Version: {version}
Summary: {summary}
License: Apache-2.0; libraries keep their own: feedrate/bundle/lib/licenses
Requires-Python: >=3.9
Provides-Extra: loader
Requires-Dist: numpy ; extra == "loader"
Provides-Extra: cuda
Requires-Dist: numpy ; extra == "cuda"
Requires-Dist: nvidia-nvjpeg>=13 ; extra == "cuda"
Provides-Extra: torch
Requires-Dist: {torch} ; extra == "torch"
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: feedrate
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""

# Where each shell looks below a prefix for the completions of a command.
COMPLETIONS = {
    "bash/feedrate": "share/bash-completion/completions/feedrate",
    "zsh/_feedrate": "share/zsh/site-functions/_feedrate",
    "fish/feedrate.fish": "share/fish/vendor_completions.d/feedrate.fish",
}


def package_version(package):
    text = (package / "__init__.py").read_text()
    return re.search(r'^__version__ = "(.*)"', text, re.M)[1]


def contents(bundle, version, platform):
    """{path in the wheel: (bytes, executable)}."""
    files = {}

    def add(name, path):
        executable = bool(path.stat().st_mode & 0o100)
        files[name] = (path.read_bytes(), executable)

    package = ROOT / "python/feedrate"
    for path in package.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            add(f"feedrate/{path.relative_to(package)}", path)
    for path in bundle.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            add(f"feedrate/bundle/{path.relative_to(bundle)}", path)
    data = f"feedrate-{version}.data"
    # The installer puts its interpreter in place of "python".
    script = b"#!python\n" + (package / "__main__.py").read_bytes()
    files[f"{data}/scripts/feedrate"] = (script, True)
    for source, target in COMPLETIONS.items():
        add(f"{data}/data/{target}", bundle / "completions" / source)
    about = f"feedrate-{version}.dist-info"
    lock = (ROOT / "third_party/torch/torch.lock").read_text()
    summary = (package / "__init__.py").read_text().split('"""')[1]
    metadata = METADATA.format(
        version=version,
        summary=summary.splitlines()[0],
        torch=re.search(r"^torch==[0-9.]+", lock, re.M)[0],
        readme=(ROOT / "README.md").read_text(),
    )
    files[f"{about}/METADATA"] = (metadata.encode(), False)
    wheel = WHEEL.format(platform=platform)
    files[f"{about}/WHEEL"] = (wheel.encode(), False)
    add(f"{about}/licenses/LICENSE", ROOT / "LICENSE")
    record = "".join(
        f"{name},sha256={digest(content)},{len(content)}\n"
        for name, (content, _) in sorted(files.items())
    )
    record += f"{about}/RECORD,,\n"
    files[f"{about}/RECORD"] = (record.encode(), False)
    return files


def digest(content):
    value = hashlib.sha256(content).digest()
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def main(arguments):
    bundle, dist, platform = arguments
    bundle = pathlib.Path(bundle)
    version = bundle.name.split("-")[1]
    if package_version(ROOT / "python/feedrate") != version:
        sys.exit(
            f"feedrate: the programs have version {version}, and"
            " python/feedrate/__init__.py another one; make them equal"
        )
    stamp = subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    date = time.gmtime(int(stamp))[:6]
    path = pathlib.Path(dist, f"feedrate-{version}-py3-none-{platform}.whl")
    files = contents(bundle, version, platform)
    # Whoever finds a wheel by its name finds a whole one.
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w") as archive:
        for name, (content, executable) in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o100755 if executable else 0o100644
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    part.rename(path)
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
