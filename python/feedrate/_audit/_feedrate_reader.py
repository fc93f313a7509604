"""Reads the pixels that _feedrate_hook.py copied from a device, in a process of
its own: from standard input lines, each with its pixels behind it, to the lines
of the training on standard output."""

import json
import os
import sys

import _feedrate_codes as codes


def main():
    import numpy as np

    os.nice(5)
    while header := sys.stdin.buffer.readline():
        line = json.loads(header)
        kind, *shape = line.pop("pixels", [None])
        if kind is not None:
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            pixels = np.frombuffer(sys.stdin.buffer.read(size), kind)
            codes.complete(line, codes.Pixels(pixels.reshape(shape)))
        os.write(1, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    main()
