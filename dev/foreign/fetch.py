"""Fetches packages of others by name, and unpacks them; nothing is run.

What is fetched once stays in the user's cache. Debian's packages come from the
mirrors that this machine's apt knows, and are checked as apt checks them;
PyPI's come from pip's index and are checked against their pinned checksum.
"""

import hashlib
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

CACHE = pathlib.Path(os.environ["FEEDRATE_CACHE"], "foreign")
TIMEOUT_S = 600
# Set to use only what was fetched before.
OFFLINE = False


class NotFetchedError(Exception):
    """The message says why."""


def run(*command, **options):
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
            **options,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip()
        raise NotFetchedError(said.splitlines()[-1]) from error


def once(name, make):
    """The folder of that name in the cache; make(folder) fills a new one."""
    folder = CACHE / name
    if not folder.exists():
        if OFFLINE:
            raise NotFetchedError("not fetched yet")
        CACHE.mkdir(parents=True, exist_ok=True)
        new = pathlib.Path(tempfile.mkdtemp(dir=CACHE, prefix=".new-"))
        try:
            make(new)
            new.chmod(0o755)
            new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder


def unpack(archive, folder):
    folder.mkdir()
    run(
        "tar",
        "--extract",
        "--no-same-owner",
        "--no-same-permissions",
        f"--file={archive}",
        f"--directory={folder}",
    )


def apt_lists(folder):
    """Fills a folder with what apt needs to fetch sources: a machine's own
    lists seldom name them."""
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    etc = pathlib.Path("/etc/apt")
    given = [etc / "sources.list", *sorted((etc / "sources.list.d").iterdir())]
    for path in given:
        if path.suffix not in (".list", ".sources") or not path.exists():
            continue
        text = re.sub(r"(?m)^deb\b(?!-)", "deb-src", path.read_text())
        text = re.sub(r"(?m)^Types:.*$", "Types: deb deb-src", text)
        (folder / "parts" / path.name).write_text(text)
    run("apt-get", "update", env=apt_environment(folder))


def apt_environment(folder):
    """`folder` is what apt_lists has filled, perhaps under another name."""
    settings = folder / "settings"
    settings.write_text(
        f'Dir::Etc::sourcelist "/dev/null";\n'
        f'Dir::Etc::sourceparts "{folder}/parts";\n'
        f'Dir::State::lists "{folder}/lists";\n'
        f'Dir::Cache "{folder}/cache";\n'
        'APT::Sandbox::User "";\nAcquire::Retries "3";\n'
    )
    return {**os.environ, "APT_CONFIG": str(settings)}


def debian(name):
    """The original source of a source package of Debian."""

    def make(folder):
        environment = apt_environment(once("apt", apt_lists))
        source = ("apt-get", "source", "--print-uris", "--only-source", name)
        listed = re.findall(
            r"(?m)^'(.+)' (\S+\.orig[^ ]*\.tar\.(?:gz|xz|bz2)) \d+ (\S+)$",
            run(*source, env=environment),
        )
        if not listed:
            raise NotFetchedError(f"apt knows no source of {name}")
        for address, file, checksum in listed:
            archive = folder / file
            helper = ("/usr/lib/apt/apt-helper", "download-file")
            run(*helper, address, str(archive), checksum, env=environment)
            unpack(archive, folder / file.split(".tar.")[0])
            archive.unlink()

    return once(f"debian-{name}", make)


def debian_program(*packages):
    """The files of binary packages of Debian, as below /."""

    def make(folder):
        environment = apt_environment(once("apt", apt_lists))
        run("apt-get", "download", *packages, cwd=folder, env=environment)
        for package in sorted(folder.glob("*.deb")):
            run("dpkg-deb", "--extract", str(package), str(folder))
            package.unlink()

    return once(f"program-{packages[0]}", make)


def sdist(name, file, sha256):
    """A source distribution of PyPI."""

    def make(folder):
        index = os.environ.get("PIP_INDEX_URL") or run(
            sys.executable,
            "-c",
            "import subprocess as s, sys\n"
            "import pip._internal.models.index as index\n"
            "said = s.run([sys.executable, '-m', 'pip', 'config', 'get',"
            " 'global.index-url'], capture_output=True, text=True)\n"
            "print(said.stdout.strip() or index.PyPI.simple_url)",
        )
        page = f"{index.strip().rstrip('/')}/{name}/"
        try:
            with urllib.request.urlopen(page, timeout=60) as answer:
                links = re.findall(r'href="([^"]+)"', answer.read().decode())
            named = [s for s in links if f"/{file}" in s]
            if not named:
                raise NotFetchedError(f"the index has no {file}")
            address = urllib.parse.urljoin(page, html.unescape(named[0]))
            with urllib.request.urlopen(address, timeout=60) as answer:
                content = answer.read()
        except OSError as error:
            raise NotFetchedError(f"{file}: {error}") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise NotFetchedError(f"{file} does not have its checksum")
        archive = folder / file
        archive.write_bytes(content)
        unpack(archive, folder / "source")
        archive.unlink()

    return once(f"pypi-{file}", make)


def nothing():
    """For what is made here: an empty folder."""
    return once("made", lambda folder: None)
