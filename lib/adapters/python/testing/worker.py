"""The runner's side of the protocol, for tests: server, children, corpora."""

import fcntl
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys

import numpy as np

# The variables of the thread policy micro-single.
ONE_THREAD = {
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
# As the runner sets them: no library may ask the network, least of all from a
# thread that is missing after a fork.
QUIET = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "NO_ALBUMENTATIONS_UPDATE": "1",
    "ALBUMENTATIONS_OFFLINE": "1",
    "ALBUMENTATIONS_NO_TELEMETRY": "1",
}
PYTHON_FOLDER = pathlib.Path(__file__).resolve().parent.parent


def write_corpus(arrays, layout="HWC"):
    """A memfd in the format of lib/media/corpus.h; sealed."""
    dtype = {"uint8": 0, "float16": 1, "float32": 2}[str(arrays[0].dtype)]
    index_offset = 64
    offset = -(-(index_offset + len(arrays) * 48) // 64) * 64
    data_offset, index, body = offset, b"", b""
    for array in arrays:
        array = np.ascontiguousarray(array)
        shape = array.shape if array.ndim == 4 else (1, *array.shape)
        frames, height, width, channels = (
            shape if layout == "HWC" else (*shape[:1], *shape[2:], shape[1])
        )
        index += struct.pack(
            "<6q", offset, array.nbytes, frames, height, width, channels
        )
        padding = -array.nbytes % 64
        body += array.tobytes() + bytes(padding)
        offset += array.nbytes + padding
    header = struct.pack(
        "<8sIIII4Q8x",
        b"FRCORPUS",
        1,
        dtype,
        ["HWC", "CHW"].index(layout),
        0,
        len(arrays),
        index_offset,
        data_offset,
        offset,
    )
    fd = os.memfd_create("corpus", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    head = (header + index).ljust(data_offset, b"\0")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(head + body)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
    return fd


class Server:
    """server.py with the interpreter given; used with `with`."""

    def __init__(
        self, libraries, python=sys.executable, flags=(), env=None, cwd=None
    ):
        ours, theirs = socket.socketpair()
        self.socket = ours
        # Only after the fork is descriptor 3 certain to be free.
        move_and_run = f'exec 3<&{theirs.fileno()}; exec "$@"'
        self.process = subprocess.Popen(
            [
                *("/bin/bash", "-c", move_and_run, "bash"),
                python,
                str(PYTHON_FOLDER / "server.py"),
                f"--libraries={','.join(libraries)}",
                *flags,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env={**os.environ, **QUIET, **(env or {})},
            cwd=cwd,
        )
        theirs.close()
        self._lines = ours.makefile("rb")
        self.hello = self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the connection; returns (exit status, standard error)."""
        self._lines.close()
        self.socket.close()
        _, errors = self.process.communicate(timeout=300)
        return self.process.returncode, errors.decode()

    def receive(self):
        line = self._lines.readline()
        return json.loads(line) if line else None

    def ask(self, message, fds=()):
        line = message if isinstance(message, bytes) else json.dumps(message)
        data = line if isinstance(line, bytes) else line.encode() + b"\n"
        if fds:
            socket.send_fds(self.socket, [data], fds)
        else:
            self.socket.sendall(data)
        return self.receive()

    def spawn(self, library, corpus_fd):
        return Child(self, library, corpus_fd)

    def reap(self, pid):
        return self.ask({"op": "reap", "pid": pid})


class Child:
    """A child of the server, and its pipes."""

    def __init__(self, server, library, corpus_fd):
        self._server = server
        commands, self._commands = os.pipe()
        self._replies, replies = os.pipe()
        self._errors, errors = os.pipe()
        reply = server.ask(
            {"op": "spawn", "library": library},
            [commands, replies, errors, corpus_fd],
        )
        for fd in (commands, replies, errors):
            os.close(fd)
        self._reader = os.fdopen(self._replies, "rb")
        self.pid = reply["pid"]

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message)
        os.write(
            self._commands,
            line if isinstance(line, bytes) else line.encode() + b"\n",
        )

    def ask(self, message):
        """The reply, or None if the child closed its pipe."""
        self.send(message)
        line = self._reader.readline()
        return json.loads(line) if line else None

    def read_rest(self):
        """The rest of what the child sends, to the end of its pipe."""
        return self._reader.read()

    def outputs(self, indexes, seed=7):
        """The arrays of an `output` command, and their layouts."""
        reply = self.ask(
            {"op": "output", "indexes": list(indexes), "seed": seed}
        )
        if "error" in reply:
            raise RuntimeError(reply["error"])
        with open(f"/proc/{self.pid}/fd/{reply['fd']}", "rb") as file:
            data = file.read()
        return [
            (
                np.frombuffer(
                    data[o["offset"] : o["offset"] + o["bytes"]], o["dtype"]
                ).reshape(o["shape"]),
                o["layout"],
            )
            for o in reply["outputs"]
        ]

    def close(self):
        """Ends the commands; returns what reap says, with standard error."""
        if self._commands is not None:
            os.close(self._commands)
            self._commands = None
        with os.fdopen(self._errors, "rb") as errors:
            text = errors.read().decode()
        self._reader.close()
        return {**self._server.reap(self.pid), "stderr": text}
