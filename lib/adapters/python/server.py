"""A process that has imported its libraries and forks one child per job.

    <environment>/bin/python server.py --libraries=torchvision,kornia

The runner is at the other end of file descriptor 3; docs/adapters_python.md
lists the messages. The server itself never computes: a library whose threads
have started before a fork hangs in every child.
"""

import argparse
import contextlib
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
    def __init__(self, control, libraries, broken, run_child):
        self._control = control
        self._run = run_child
        self._libraries = libraries
        # Why the others could not be imported, by name.
        self._broken = broken
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
        if message["library"] in self._broken:
            raise self._broken[message["library"]]
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
            self._run(library, commands, replies, corpus)
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
        "--libraries", default="", help="names, with commas between"
    )
    parser.add_argument(
        "--subject", help="MODULE:NAME of the user's own code, instead"
    )
    parser.add_argument(
        "--describe",
        metavar="MODE",
        help="print what the subject is for this mode, and end",
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


def import_loaders(libraries, broken):
    """Imports the modules of loader jobs here, so that no job pays for
    importing torch. Those that cannot be imported go to `broken`."""
    from loaders import job, mixture

    for name, library in list(libraries.items()):
        try:
            if hasattr(library, "MIXTURE"):
                mixture.import_module(library)
            else:
                job.import_modules(library, name)
        except Exception as error:
            broken[name] = error
            del libraries[name]
    if not libraries:
        raise next(iter(broken.values()))


def load_libraries(flags):
    """Libraries by name, and errors of those that cannot be imported, which
    spoil only their own jobs. Imports nothing else that a job needs."""
    if flags.subject:
        with process_setup.only_our_modules():
            import subject

        return {flags.subject: subject.Subject(flags.subject)}, {}
    folders = [*flags.library_folder, FOLDER / "libraries"]
    libraries, broken = {}, {}
    for name in flags.libraries.split(","):
        try:
            libraries[name] = load_library(name, folders)
        except Exception as error:
            broken[name] = error
    if not libraries:
        raise next(iter(broken.values()))
    return libraries, broken


def describe(flags):
    """Prints what lib/planning/subjects.cc reads."""
    answers = os.dup(1)
    # What the subject itself prints is not an answer.
    os.dup2(2, 1)
    if importlib.util.find_spec("numpy") is None:
        lines = [
            f"problem={sys.executable} has no numpy, which the worker needs;"
            " install it, or name another interpreter with --python=PATH"
        ]
    else:
        process_setup.avoid_hidden_sve()
        with process_setup.only_our_modules():
            import subject

        lines = subject.describe(flags.subject, flags.describe)
    text = "".join(f"\nfeedrate:{' '.join(x.splitlines())}" for x in lines)
    os.write(answers, f"{text}\n".encode())
    # Threads of the subject's libraries must not keep us.
    os._exit(0)


def main():
    flags = parse_flags(sys.argv[1:])
    if flags.describe:
        describe(flags)
    # Ctrl-C reaches the whole terminal; what becomes of a job is the runner's
    # decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = Control(CONTROL_FD)
    try:
        process_setup.settle_malloc()
        process_setup.avoid_hidden_sve()
        started = time.perf_counter()
        if flags.packages:
            add_packages(flags.packages)
        # Before a subject, which may have modules with names of ours.
        with (
            process_setup.only_our_modules()
            if flags.subject
            else contextlib.nullcontext()
        ):
            import child

        libraries, broken = load_libraries(flags)
        if flags.loader and not flags.subject:
            import_loaders(libraries, broken)
        import_s = time.perf_counter() - started
        versions = {n: library.version() for n, library in libraries.items()}
    except BaseException as error:
        sys.excepthook(*sys.exc_info())
        kind = "" if flags.subject else f"{type(error).__name__}: "
        control.send({"error": f"{kind}{error}"})
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
    Server(control, libraries, broken, child.run).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
