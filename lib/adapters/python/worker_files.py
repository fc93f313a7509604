"""Removes files that a killed worker process of torch may leave behind.

torch names the memory of a batch in /dev/shm while it makes it, and unlinks the
name when it is mapped. A worker that is killed in between leaves some megabytes
there, for good. So workers record their ids in memory shared with the server,
which removes their files when it reaps their child.
"""

import contextlib
import glob
import mmap
import os
import struct
import time

_PID = struct.Struct("<i")
# More workers are never asked for.
_SLOTS = 1024
_PATTERN = "/dev/shm/torch_{}_*"
# PR_SET_PDEATHSIG takes milliseconds.
_WAIT_S = 1.0


class WorkerFiles:
    """Made before the child is forked, and so shared with it."""

    def __init__(self):
        self._map = mmap.mmap(-1, _SLOTS * _PID.size)

    def note(self, slot, pid):
        """Called by a worker; a later one may reuse the slot."""
        _PID.pack_into(self._map, slot % _SLOTS * _PID.size, pid)

    def pids(self):
        return [pid for (pid,) in _PID.iter_unpack(self._map) if pid]

    def remove(self):
        """Removes what the workers left. Call it when their child has ended,
        and the workers with it."""
        until = time.monotonic() + _WAIT_S
        for pid in self.pids():
            while _runs(pid) and time.monotonic() < until:
                time.sleep(0.002)
            for path in glob.glob(_PATTERN.format(pid)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
        self._map.close()


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# The child's own, once it has been forked; None in tests without a server.
current = None
