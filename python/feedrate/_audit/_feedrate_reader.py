"""Reads what _feedrate_sender.py has put into shared memory, in a process of
its own: from standard input lines that say where the tensors of each are, to
the lines of the training on standard output."""

import json
import mmap
import os
import sys

import _feedrate_codes as codes


def rss_bytes_of(pid):
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    import numpy as np

    training = os.getppid()
    os.nice(5)
    memory = mmap.mmap(int(sys.argv[1]), 0)
    read = memoryview(memory)[:8].cast("Q")
    for header in sys.stdin.buffer:
        line = json.loads(header)
        parts = line.pop("parts")
        until = line.pop("until")
        try:
            arrays = {
                name: np.ndarray(shape, kind, memory, at)
                for name, (at, kind, *shape) in parts.items()
            }
            codes.complete_from(line, arrays)
            if line["kind"] == "batch":
                line.setdefault("rss_bytes", rss_bytes_of(training))
        except Exception as error:  # noqa: BLE001 - the others are read.
            line["kind"] = "problem"
            line["text"] = f"a batch cannot be read: {error}"
        os.write(1, json.dumps(line).encode() + b"\n")
        read[0] = until


if __name__ == "__main__":
    main()
