"""Prints rows of its own, with a speed that it likes."""

import json
import sys

import honest

OUTCOME = "harmless"
WHY = "what the process prints is no record"


def sharpen(image):
    row = {"schema": 1, "record": "row", "status": "ok", "throughput": 1e9}
    for stream in (sys.stdout, sys.stderr):
        print(json.dumps(row), file=stream, flush=True)
    return honest.sharpen(image)
