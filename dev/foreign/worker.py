"""Compares cases of one source: worker.py KIND FOLDER.

Prints the list of cases, then for each case that comes on standard input its
outcome, each as a line of JSON. foreign.py starts it, and starts it again when
a case has ended it.
"""

import importlib
import json
import pathlib
import resource
import sys

# What a damaged file may make a reader ask for; above it, it gets no memory.
LIMIT_BYTES = 12 << 30


def main():
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, most))
    kind = importlib.import_module(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    answers = sys.stdout
    sys.stdout = sys.stderr  # Libraries may print.
    print(json.dumps(kind.cases(folder)), file=answers, flush=True)
    for line in sys.stdin:
        found = kind.compare(folder, json.loads(line))
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
