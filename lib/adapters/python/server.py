"""A process that has imported its libraries and forks one child per job.

    <environment>/bin/python server.py --libraries=torchvision,kornia

The runner is at the other end of file descriptor 3; docs/adapters_python.md
lists the messages. The server itself never computes: a library whose threads
have started before a fork hangs in every child.
"""

import argparse
import gc
import importlib.util
import json
import os
import pathlib
import signal
import socket
import sys
import time

import process_setup
import worker_files

FOLDER = pathlib.Path(__file__).resolve().parent
CONTROL_FD = 3
# Commands, replies, standard error, corpus.
FDS_OF_A_CHILD = 4


class Control:
    """The socket to the runner: lines in both directions, descriptors in
    one."""

    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)
        self._bytes = b""
        self._fds = []

    def lines(self):
        """Yields (line, descriptors received with it) until the end."""
        while True:
            data, fds, _, _ = socket.recv_fds(self._socket, 1 << 16, 16)
            self._fds += fds
            self._bytes += data
            while b"\n" in self._bytes:
                line, _, self._bytes = self._bytes.partition(b"\n")
                fds, self._fds = self._fds, []
                yield line, fds
            if not data:
                return

    def send(self, message):
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def close(self):
        self._socket.close()


class Server:
    def __init__(self, control, libraries):
        self._control = control
        self._libraries = libraries
        # What their workers may leave behind, by process.
        self._children = {}

    def serve(self):
        try:
            for line, fds in self._control.lines():
                try:
                    reply = self._answer(json.loads(line), fds)
                except Exception as error:
                    reply = {"error": f"{type(error).__name__}: {error}"}
                finally:
                    for fd in fds:
                        os.close(fd)
                self._control.send(reply)
        finally:
            for pid, files in self._children.items():
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                files.remove()

    def _answer(self, message, fds):
        if message.get("op") == "spawn":
            return self._spawn(message, fds)
        if message.get("op") == "reap":
            return self._reap(message["pid"])
        raise ValueError(f"no command {message.get('op')!r}")

    def _spawn(self, message, fds):
        library = self._libraries[message["library"]]
        if len(fds) != FDS_OF_A_CHILD:
            raise ValueError(f"{len(fds)} descriptors, not {FDS_OF_A_CHILD}")
        server = os.getpid()
        files = worker_files.WorkerFiles()
        pid = os.fork()
        if pid == 0:
            worker_files.current = files
            self._run_child(server, library, fds)
        self._children[pid] = files
        return {"pid": pid}

    def _run_child(self, server, library, fds):
        """Never returns: the child must not tear down what the server holds."""
        status = 1
        try:
            process_setup.die_with_parent(server)
            self._control.close()
            commands, replies, errors, corpus = fds
            os.dup2(errors, 1)
            os.dup2(errors, 2)
            import child

            child.run(library, commands, replies, corpus)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _reap(self, pid):
        if pid not in self._children:
            raise ValueError(f"no child {pid}")
        _, status, usage = os.wait4(pid, 0)
        self._children.pop(pid).remove()
        return {"pid": pid, "status": status, "max_rss": usage.ru_maxrss << 10}


def load_library(name, folders):
    """The library file with this name, from the first folder that has it."""
    for folder in folders:
        path = pathlib.Path(folder) / f"{name}.py"
        if path.is_file():
            # Not the bare name: the file imports the package of that name.
            spec = importlib.util.spec_from_file_location(
                f"library_{name}", path
            )
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise LookupError(f"no file {name}.py in {', '.join(map(str, folders))}")


def parse_flags(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--libraries", required=True, help="names, with commas between"
    )
    parser.add_argument(
        "--library_folder",
        action="append",
        default=[],
        help="further folder of library files, looked at first",
    )
    parser.add_argument(
        "--loader",
        action="store_true",
        help="also import what loader jobs need",
    )
    parser.add_argument(
        "--packages",
        help="folder of a further environment, whose packages are seen after"
        " those of our own",
    )
    return parser.parse_args(arguments)


def add_packages(environment):
    """Lets this interpreter import the packages of another environment."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = pathlib.Path(environment) / "lib" / version / "site-packages"
    if not folder.is_dir():
        raise LookupError(
            f"{folder} is not there; both environments need the same {version}"
        )
    sys.path.append(str(folder))


def import_loaders(libraries):
    """Imports the modules of loader jobs here, so that no job pays for
    importing torch."""
    from loaders import job, mixture

    for name, library in libraries.items():
        if hasattr(library, "MIXTURE"):
            mixture.import_module(library)
        else:
            job.import_modules(library, name)


def main():
    flags = parse_flags(sys.argv[1:])
    # Ctrl-C reaches the whole terminal; what becomes of a job is the runner's
    # decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = Control(CONTROL_FD)
    folders = [*flags.library_folder, FOLDER / "libraries"]
    try:
        process_setup.settle_malloc()
        process_setup.avoid_hidden_sve()
        started = time.perf_counter()
        if flags.packages:
            add_packages(flags.packages)
        libraries = {
            name: load_library(name, folders)
            for name in flags.libraries.split(",")
        }
        import child  # noqa: F401, so that no job pays for it

        if flags.loader:
            import_loaders(libraries)
        import_s = time.perf_counter() - started
        versions = {n: library.version() for n, library in libraries.items()}
    except BaseException as error:
        sys.excepthook(*sys.exc_info())
        control.send({"error": f"{type(error).__name__}: {error}"})
        return 1
    # Children share these objects; a collection would write to each of them.
    gc.collect()
    gc.freeze()
    control.send(
        {
            "hello": 1,
            "pid": os.getpid(),
            "versions": versions,
            "import_s": import_s,
        }
    )
    Server(control, libraries).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
