"""Writes a lock file with hashes anew; see dev/lock.sh, which runs it.

Its list are the lines that begin with `#: `. Dependencies that the list does
not name are resolved for the machine that this runs on. A lock that says `# on
top of x.lock` leaves out what that lock, beside it, has: programs add the other
environment's packages to their path. What the list names itself comes first
there. A lock that says `# without dependencies` has only what it lists.

Then every package is looked up for both processors and both Python versions
that the project supports. Reads only the index's metadata, so the hash of a
400 MB wheel costs no download. `--no-binary NAME` in the list takes a package
without wheels as source.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

MACHINES = ["x86_64", "aarch64"]
PYTHONS = ["3.11", "3.12"]
# glibc 2.28 is the oldest that torch's wheels work on.
PLATFORMS = [f"manylinux_2_{minor}" for minor in range(28, 16, -1)]
PLATFORMS += ["manylinux2014", "manylinux2010", "manylinux1"]


def pip_report(*arguments):
    """What pip would install, or None where it finds no way."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet"]
    command += ["--ignore-installed", "--only-binary=:all:", "--report=-"]
    done = subprocess.run(
        command + list(arguments), stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)["install"] if done.returncode == 0 else None


def head_of(lock):
    """The comments of a lock, with its list."""
    return re.findall(r"(?m)^#.*\n", lock.read_text())


def listed(lock):
    """The list of a lock, as pip reads it."""
    return "".join(line[3:] for line in head_of(lock) if line[:3] == "#: ")


def pins_below(lock):
    """The pins of the lock that this one is on top of, without packages that
    its list names itself."""
    named = re.search(r"(?m)^# on top of (\S+)$", lock.read_text())
    if named is None:
        return []
    own = re.findall(r"(?m)^([\w.-]+)==", listed(lock))
    lower = (lock.parent / named[1]).read_text()
    pins = re.findall(r"(?m)^[\w.-]+==[^\s\\;]+", lower)
    return [pin for pin in pins if pin.split("==")[0] not in own]


def pins_of(report):
    """name==version of every package, in a stable order."""
    named = [(p["metadata"]["name"], p["metadata"]["version"]) for p in report]
    return [f"{n}=={v}" for n, v in sorted(named, key=lambda p: p[0].lower())]


def source_hashes(lock, report):
    """Pin to hash of the packages that the list takes as source."""
    names = re.findall(r"(?m)^--no-binary (\S+)$", listed(lock))
    return {
        pins_of([p])[0]: p["download_info"]["archive_info"]["hashes"]["sha256"]
        for p in report
        if p["metadata"]["name"] in names
    }


def hashes_on(pins, machine, python, folder):
    """Pin to hash for one processor and Python; None where it has no wheel."""
    target = ["--no-deps", f"--target={folder}", f"--python-version={python}"]
    target += [f"--platform={p}_{machine}" for p in PLATFORMS]
    report = pip_report(*target, *pins)
    if report is None and len(pins) == 1:
        return {pins[0]: None}
    if report is None:
        found = {}
        for pin in pins:
            found.update(hashes_on([pin], machine, python, folder))
        return found
    hashes = [p["download_info"]["archive_info"]["hashes"] for p in report]
    return dict(
        zip(
            [pins_of([p])[0] for p in report],
            [h["sha256"] for h in hashes],
            strict=True,
        )
    )


def lock_lines(pin, found):
    """The lines of one package; a marker where a processor has no wheel."""
    hashes, machines = set(), []
    for machine in MACHINES:
        on_machine = [found[machine, python].get(pin) for python in PYTHONS]
        if all(on_machine):
            machines.append(machine)
            hashes.update(on_machine)
    if not machines:
        sys.exit(f"{pin}: no wheels for Python {' and '.join(PYTHONS)}")
    marker = ""
    if machines != MACHINES:
        marker = f' ; platform_machine == "{machines[0]}"'
    lines = [f"{pin}{marker}"]
    lines += [f"    --hash=sha256:{digest}" for digest in sorted(hashes)]
    return " \\\n".join(lines)


def main():
    lock = pathlib.Path(sys.argv[1])
    provided = pins_below(lock)
    with tempfile.TemporaryDirectory() as folder:
        requirements = pathlib.Path(folder) / "requirements.txt"
        requirements.write_text(listed(lock))
        options = ["--requirement", str(requirements), *provided]
        if "# without dependencies\n" in lock.read_text():
            options.append("--no-deps")
        report = pip_report(*options)
        if report is None:
            sys.exit(f"{lock}: pip cannot resolve it (see above)")
        pins = [pin for pin in pins_of(report) if pin not in provided]
        sources = source_hashes(lock, report)
        wheels = [pin for pin in pins if pin not in sources]
        found = {
            (machine, python): hashes_on(wheels, machine, python, folder)
            | sources
            for machine in MACHINES
            for python in PYTHONS
        }
    lines = [lock_lines(pin, found) + "\n" for pin in pins]
    lock.write_text("".join(head_of(lock) + lines))


if __name__ == "__main__":
    main()
