"""Worker processes: they die with their parent, and their time is counted."""

import json
import multiprocessing.connection
import os
import resource
import secrets
import signal
import traceback

import outputs
import process_setup

_TICKS = os.sysconf("SC_CLK_TCK")


def die_with(parent):
    """To be called first thing by a worker that `parent` has forked."""
    process_setup.die_with_parent(parent)


def leave_no_files():
    """Makes multiprocessing's sockets nameless.

    torch's workers hand over each batch through one; by default it lies in a
    new folder under /tmp, which a killed process leaves behind.
    """

    def nameless(family):
        if family != "AF_UNIX":
            raise ValueError(f"no address of the family {family}")
        return f"\0feedrate-{secrets.token_hex(8)}"

    multiprocessing.connection.arbitrary_address = nameless


def cpu_s(workers=()):
    """Processor time of this process, of children that have ended, and of the
    workers that still run."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total + sum(map(_running_cpu_s, workers))


def _running_cpu_s(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def descendants():
    """Processes that this one started, and those that they started."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = file.read().rpartition(")")[2].split()[1]
        except OSError:  # It has ended.
            continue
        children.setdefault(int(parent), []).append(int(name))
    found, left = [], [os.getpid()]
    while left:
        some = children.get(left.pop(), [])
        found += some
        left += some
    return found


def run_apart(function):
    """What function() returns, plain data, when run in a forked process.

    What it computes stays out of this process: workers that are forked from a
    process whose libraries have started threads may hang.
    """
    parent = os.getpid()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(ours)
            die_with(parent)
            answer = {"value": function()}
            status = 0
        except BaseException as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        finally:
            outputs.write_all(theirs, json.dumps(answer).encode())
            os._exit(status)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise RuntimeError(f"the process that made the outputs died of {name}")
    answer = json.loads(answer)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["value"]
