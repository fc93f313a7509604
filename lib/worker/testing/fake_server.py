"""A server and children that do on purpose what measured processes may do.

The transform of `prepare` says what; see FAULTS. Everything else is answered as
the protocol has it.
"""

import array
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time


def receive(control):
    fds = array.array("i")
    data, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_SPACE(16))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content)
    return data.decode(), list(fds)


def close_pipes(replies):
    os.close(replies)
    time.sleep(60)


def take_memory(_):
    taken = []
    while True:
        taken.append(b"x" * (4 << 20))
        time.sleep(0.001)


def keep_pipe_open_in_another(_):
    subprocess.Popen(["/bin/sleep", "60"], close_fds=False)
    os.kill(os.getpid(), signal.SIGKILL)


def speak_and_answer_late(_):
    time.sleep(0.2)
    print("still there", file=sys.stderr, flush=True)
    time.sleep(0.1)


def probe_after_the_end(replies):
    reply = {"samples_s": [1] * 10, "items": 10}
    probes = {"probes_s": [1], "chains_s": [1], "probes_at": [11]}
    os.write(replies, json.dumps({**reply, **probes}).encode() + b"\n")


def say_nothing_often(_):
    os.write(2, b"\n" * 10_000_000 + b"done\n")
    os._exit(3)


FAULTS = {
    "segfault": lambda _: ctypes.string_at(0),
    "exit": lambda _: os._exit(3),
    "hang": lambda _: time.sleep(60),
    "garbage": lambda r: os.write(r, b"\x00\x01 not json\n"),
    "flood": lambda r: [os.write(r, b"x" * 65536) for _ in range(1000)],
    "close": close_pipes,
    "allocate": take_memory,
    "orphan": keep_pipe_open_in_another,
    "probes": probe_after_the_end,
    "newlines": say_nothing_often,
    "slow": speak_and_answer_late,
}


def attach(command, transform):
    if transform == "short":
        command["output_bytes"] -= 1
    if transform == "plain_file":
        with tempfile.TemporaryFile() as file:
            return {"input_fd": os.dup(file.fileno()), "output_fd": 0}
    fds = [os.memfd_create("calls", os.MFD_ALLOW_SEALING) for _ in range(2)]
    os.ftruncate(fds[0], command["input_bytes"])
    os.ftruncate(fds[1], command["output_bytes"])
    return {"input_fd": fds[0], "output_fd": fds[1]}


def call(command, transform):
    shape = {"dtype": "uint8", "layout": "HWC", "shape": [2, 2, 3]}
    output = {"offset": 0, "bytes": 12, **shape}
    if transform == "ahead":
        command["nonce"] += 1
    if transform == "large":
        output |= {"bytes": 3000, "shape": [20, 50, 3]}
    return {"nonce": command["nonce"], "output": output}


def answer(command, replies):
    op = command["op"]
    if op == "prepare":
        if command["transform"] == "refuse":
            return {"error": "TypeError: no such transform"}
        answer.transform = command["transform"]
        answer.fault = FAULTS.get(command["transform"])
        return {"version": "1.2", "clock_pair_s": 1e-7, "threads": 1}
    if op == "attach":
        return attach(command, answer.transform)
    if op == "seed":
        return {"seeded": True}
    if op == "call":
        return call(command, answer.transform)
    if op == "output" and answer.transform == "pipe":
        # Who opens it waits for somebody who writes.
        path = tempfile.mkdtemp() + "/pipe"
        os.mkfifo(path)
        return {"fd": os.open(path, os.O_PATH), "outputs": [{}]}
    if op == "output":
        memory = os.memfd_create("output")
        os.write(memory, bytes(range(12)))
        shape = {"dtype": "uint8", "layout": "HWC", "shape": [2, 2, 3]}
        return {"fd": memory, "outputs": [{"offset": 0, "bytes": 12, **shape}]}
    if answer.fault is not None:
        print("about to fail", file=sys.stderr, flush=True)
        answer.fault(replies)
        if answer.fault is not speak_and_answer_late:
            return None
    samples = -(-command["count"] // command["chunk"])
    return {"samples_s": [0.5] * samples, "items": command["count"]}


def child(commands, replies, stderr):
    os.dup2(stderr, 2)
    for line in os.fdopen(commands):
        reply = answer(json.loads(line), replies)
        if reply is not None:
            os.write(replies, (json.dumps(reply) + "\n").encode())
    os._exit(0)


def serve():
    control = socket.socket(fileno=3)

    def say(message):
        control.sendall((json.dumps(message) + "\n").encode())

    if "--fail-to-load" in sys.argv:
        say({"error": "ModuleNotFoundError: No module named 'fake'"})
        sys.exit(1)
    if "--die" in sys.argv:
        sys.exit("cannot open shared object file")
    if "--flood" in sys.argv:
        while True:
            control.sendall(b"x" * 65536)
    versions = {"fake": os.environ.get("FAKE_VERSION", "1.2")}
    say({"hello": 1, "pid": os.getpid(), "versions": versions, "import_s": 0})
    while True:
        text, fds = receive(control)
        if not text:
            os._exit(0)
        request = json.loads(text)
        if request["op"] == "spawn":
            pid = os.fork()
            if pid == 0:
                control.close()
                child(*fds[:3])
            for fd in fds:
                os.close(fd)
            if "--name-another" in sys.argv:
                pid = os.getppid()
            say({"pid": pid})
        else:
            pid, status, usage = os.wait4(request["pid"], 0)
            rss = usage.ru_maxrss * 1024
            say({"pid": pid, "status": status, "max_rss": rss})


if __name__ == "__main__":
    serve()
