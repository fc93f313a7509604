#!/usr/bin/env python3
"""Runs a command beside a server of a folder; its address is $ENDPOINT.

serve.py faulty|nginx FOLDER [--delay_ms=20] -- COMMAND...
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import servers


def main():
    split = sys.argv.index("--")
    kind, folder, *flags = sys.argv[1:split]
    with contextlib.ExitStack() as stack:
        if kind == "faulty":
            settings = dict(flag[2:].split("=") for flag in flags)
            server = servers.faulty(folder=folder, **settings)
            url = stack.enter_context(server).url
        else:
            work = pathlib.Path(
                stack.enter_context(tempfile.TemporaryDirectory())
            )
            server = servers.nginx(pathlib.Path(folder), work, logged=False)
            url = stack.enter_context(server)[0]
        env = {**os.environ, "ENDPOINT": url}
        return subprocess.run(sys.argv[split + 1 :], env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
