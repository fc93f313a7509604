#!/usr/bin/env python3
"""Measures every transform of the libraries without trust: none may be accused.

    tools/micro/cheats/honest_libraries.py --micro=PROGRAM LIBRARY=PYTHON...

Each is a subject of its own (libraries.py), in both profiles of parameters, and
held against the library's own worker. Prints the counts, and each that was
accused with its reason; ends with 1 if there is one.
"""

import argparse
import collections
import os
import pathlib
import sys
import tempfile

import run

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROFILES = ("paper", "matched")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--micro", required=True)
    parser.add_argument("--items", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY=PYTHON")
    flags = parser.parse_args()
    counts = collections.Counter()
    for one in flags.libraries:
        library, _, flags.python = one.partition("=")
        for profile in PROFILES:
            os.environ |= {
                "HONEST_ADAPTERS": str(ROOT / "lib/adapters/python"),
                "HONEST_CONFIGS": str(ROOT / "configs"),
                "HONEST_LIBRARY": library,
                "HONEST_PROFILE": profile,
            }
            with tempfile.TemporaryDirectory() as work:
                folder = pathlib.Path(work)
                run.make_pictures(folder, height=240)
                rows = run.measure(
                    flags,
                    folder,
                    ["libraries:transforms"],
                    reference=library,
                    flags_of_run=[f"--params_profile={profile}"],
                )
            last = {row["transform"]: row for row in rows}
            for name, row in last.items():
                counts[library, profile, row["status"]] += 1
                if row["status"] != "ok":
                    print(f"{library} {profile} {name}: {row['reason']}")
    for (library, profile, status), count in sorted(counts.items()):
        print(f"{library:16} {profile:8} {status:8} {count}")
    accused = sum(n for (_, _, s), n in counts.items() if s != "ok")
    print(f"{sum(counts.values())} honest subjects, {accused} accused")
    return 1 if accused else 0


if __name__ == "__main__":
    sys.exit(main())
