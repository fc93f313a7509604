"""Stops a program at the system calls that change files below a folder.

`run` starts a command under a seccomp filter (no root, nothing preloaded, also
static programs). Each open for writing, write, rename, link, unlink, mkdir,
truncation and fsync below `folder`, of the program or of any process that it
starts, is an event. Before an event happens, a function decides what becomes of
it: it goes on, fails with an error, happens by half, or kills everybody.
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import platform
import re
import select
import signal
import socket
import struct
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
SECCOMP = 317 if X86 else 277
ARCHITECTURE = 0xC000003E if X86 else 0xC00000B7
# Number: (name, index of the path or descriptor, whether it is a path).
CALLS = {
    1 if X86 else 64: ("write", 0, False),
    18 if X86 else 68: ("pwrite", 0, False),
    20 if X86 else 66: ("writev", 0, False),
    74 if X86 else 82: ("fsync", 0, False),
    75 if X86 else 83: ("fdatasync", 0, False),
    77 if X86 else 46: ("ftruncate", 0, False),
    326 if X86 else 285: ("copy_file_range", 2, False),
    40 if X86 else 71: ("sendfile", 0, False),
    257 if X86 else 56: ("open", 1, True),
    258 if X86 else 34: ("mkdir", 1, True),
    263 if X86 else 35: ("unlink", 1, True),
    264 if X86 else 38: ("rename", 1, True),
    316 if X86 else 276: ("rename", 1, True),
    265 if X86 else 37: ("link", 3, True),
    266 if X86 else 36: ("symlink", 2, True),
}
if X86:
    CALLS.update(
        {
            2: ("open", 0, True),
            82: ("rename", 0, True),
            83: ("mkdir", 0, True),
            84: ("unlink", 0, True),
            86: ("link", 1, True),
            87: ("unlink", 0, True),
            88: ("symlink", 1, True),
        }
    )
WRITES = ("write", "pwrite", "writev")
# What a full disk refuses.
GROWS = (
    *WRITES,
    "copy_file_range",
    "sendfile",
    "open",
    "mkdir",
    "link",
    "symlink",
)

CONTINUE, KILL, HALF = "continue", "kill", "half"
# struct seccomp_notif and its answer.
ASKED = struct.Struct("=QIIiIQ6Q")
ANSWER = struct.Struct("=QqiI")
RECEIVE, SEND = 0xC0502100, 0xC0182101


def _filter():
    """BPF: the calls above go to the listener, all others on."""
    load, equal, back = 0x20, 0x15, 0x06
    notify, allow = 0x7FC00000, 0x7FFF0000
    numbers = sorted(CALLS)
    lines = [(load, 0, 0, 4), (equal, 1, 0, ARCHITECTURE), (back, 0, 0, allow)]
    lines.append((load, 0, 0, 0))
    for i, number in enumerate(numbers):
        lines.append((equal, len(numbers) - i, 0, number))
    lines += [(back, 0, 0, allow), (back, 0, 0, notify)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines), len(lines)


def _install(channel):
    """In the child: installs the filter and sends the listener's number."""
    code, length = _filter()
    kept = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", length, ctypes.addressof(kept))
    if LIBC.prctl(38, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    listener = LIBC.syscall(SECCOMP, 1, 8, program)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    socket.send_fds(channel, [b"x"], [listener])


class NoFilter(Exception):
    """Containers may forbid it, and old kernels cannot."""


class Event:
    """A call that waits for an answer."""

    def __init__(self, words):
        self.id, self.pid, _, self.number = words[:4]
        self.arguments = words[6:]
        self.name, place, is_path = CALLS[self.number]
        self.path = ""
        try:
            if not is_path:
                link = f"/proc/{self.pid}/fd/{self.arguments[place]}"
                self.path = os.readlink(link)
            elif self.name != "open" or self._changes(place):
                self.path = self._text(place)
        except OSError:
            pass

    def _changes(self, place):
        flags = self.arguments[place + 1]
        return flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def _memory(self, address, count):
        with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            memory.seek(address)
            return memory.read(count)

    def _text(self, place):
        address = self.arguments[place]
        # Not beyond the page, which may be the last one.
        text = self._memory(address, 4096 - address % 4096)
        if b"\0" not in text:
            text += self._memory(address + len(text), 4096)
        path = os.fsdecode(text.partition(b"\0")[0])
        base = f"/proc/{self.pid}/cwd"
        # Calls that end in "at" have a folder before the path, or AT_FDCWD.
        if place and (not X86 or self.number > 256):
            number = ctypes.c_int(self.arguments[place - 1]).value
            if number >= 0:
                base = f"/proc/{self.pid}/fd/{number}"
        return os.path.join(os.readlink(base), path)

    def half(self):
        """Writes the first half of what the call would write."""
        if self.name not in ("write", "pwrite"):
            return
        content = self._memory(self.arguments[1], self.arguments[2] // 2)
        # The asker may be a thread.
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        process = os.pidfd_open(int(re.search(r"Tgid:\s*(\d+)", status)[1]))
        # pidfd_getfd: shares the position in the file.
        file = LIBC.syscall(438, process, self.arguments[0], 0)
        os.close(process)
        if self.name == "write":
            os.write(file, content)
        else:
            os.pwrite(file, content, self.arguments[3])
        os.close(file)


class Outcome:
    code = None
    output = ""
    errors = ""
    events = 0
    killed = False
    timed_out = False


def run(command, folder, decide, limit_s=60, env=None, cwd=None):
    """Runs a command. `decide(event, number)` returns CONTINUE, KILL, HALF (by
    half, then kill) or an errno. It is asked about events below `folder` alone;
    numbers start at 0. Returns an Outcome when all its processes have ended."""
    outcome = Outcome()
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                os.chdir(cwd or os.getcwd())
                for file, number in ((out, 1), (err, 2)):
                    os.dup2(file.fileno(), number)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                _install(theirs)
                os.execvpe(command[0], command, env or os.environ)
            finally:
                os._exit(127)
        theirs.close()
        _, listeners, _, _ = socket.recv_fds(ours, 1, 1)
        ours.close()
        if not listeners:
            os.waitpid(child, 0)
            raise NoFilter("programs get no filter for system calls here")
        try:
            _serve(child, listeners[0], folder, decide, limit_s, outcome)
        finally:
            os.close(listeners[0])
        for file, name in ((out, "output"), (err, "errors")):
            file.seek(0)
            setattr(outcome, name, file.read().decode(errors="replace"))
    return outcome


def _kill_all(pids):
    for pid in pids:
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)


def _serve(child, listener, folder, decide, limit_s, outcome):
    """Answers events until the last process has ended."""
    end = time.monotonic() + limit_s
    pids = {child}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        ready = poll.poll(1000 * max(0, end - time.monotonic()))
        if not ready:
            outcome.timed_out = True
            _kill_all(pids)
            break
        if not ready[0][1] & select.POLLIN:
            break
        buffer = bytearray(ASKED.size)
        try:
            fcntl.ioctl(listener, RECEIVE, buffer)
        except OSError:
            continue
        event = Event(ASKED.unpack(buffer))
        # 0: it has ended meanwhile; as a group, that would be our own.
        if event.pid > 0:
            pids.add(event.pid)
        answer = CONTINUE
        if event.path.startswith(folder) and not outcome.killed:
            answer = decide(event, outcome.events)
            outcome.events += 1
        if answer in (KILL, HALF):
            if answer == HALF:
                event.half()
            outcome.killed = True
            _kill_all(pids)
            continue
        error, flags = (0, 1) if answer == CONTINUE else (-answer, 0)
        # It may have been killed meanwhile.
        with contextlib.suppress(OSError):
            fcntl.ioctl(listener, SEND, ANSWER.pack(event.id, 0, error, flags))
    _, status = os.waitpid(child, 0)
    outcome.code = os.waitstatus_to_exitcode(status)
