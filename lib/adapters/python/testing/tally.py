"""Shared by the tests of all cells: arguments, a server, and counts."""

import argparse
import pathlib
import sys
import time

from testing import worker


class Tally:
    def __init__(self):
        self.passed, self.unsupported, self.faults = 0, 0, []

    def add(self, cell, faults, seconds):
        self.passed += not faults
        self.faults += [f"{cell}: {fault}" for fault in faults]
        word = "FAILED" if faults else "ok"
        print(f"{word} {cell} ({seconds:.1f} s)", *faults, flush=True)

    def run_cells(self, cells, only, faults_of, *inputs):
        """Counts each cell by what faults_of(cell, *inputs) finds. `only` is
        names with commas between, or nothing."""
        for cell in cells:
            if only and cell.transform not in only.split(","):
                continue
            if cell.unsupported:
                print(f"unsupported {cell}: {cell.unsupported}")
                self.unsupported += 1
                continue
            started = time.monotonic()
            faults = faults_of(cell, *inputs)
            self.add(cell, faults, time.monotonic() - started)


def arguments(doc):
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--configs", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="transforms, with commas between")
    parser.add_argument("libraries", nargs="+")
    return parser


def run_libraries(flags, run_library, what="cells", server_flags=()):
    """Calls run_library(server, flags, library, tally) for each; the exit code
    of the test."""
    tally = Tally()
    with worker.Server(
        flags.libraries, flags=list(server_flags), env=worker.ONE_THREAD
    ) as server:
        if "hello" not in server.hello:
            sys.exit(f"the server said {server.hello}")
        print(server.hello)
        for library in flags.libraries:
            before = tally.passed + tally.unsupported + len(tally.faults)
            run_library(server, flags, library, tally)
            if tally.passed + tally.unsupported + len(tally.faults) == before:
                tally.faults.append(f"{library}: not one of its {what} ran")
    for line in tally.faults:
        print("FAILED", line)
    print(
        f"{tally.passed} {what} passed, {tally.unsupported} unsupported,"
        f" {len(tally.faults)} faults"
    )
    return 1 if tally.faults else 0
