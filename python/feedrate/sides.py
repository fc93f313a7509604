"""Both sides of a duel in one process: what differs between processes, such as
where memory lies, is then the same for both.

    from feedrate import sides
    sides.serve({"matmul": (lambda: old(x, y), lambda: new(x, y))})

in a file bench.py, and

    feedrate duel --both='python bench.py' | feedrate compare_baseline --paired

`feedrate duel` tells the process which side to run, in random order. Both sides
should work on the same inputs, as above.
"""

import gc
import hashlib
import json
import sys
import time

__all__ = ["serve"]

# Several times the largest L2.
_FLUSH_BYTES = 256 << 20


def serve(jobs, *, device="cuda", clock="device", l2="cold", samples=15):
    """Runs sides until standard input ends. Call it last.

    `jobs` has, by name, two functions without arguments: A and B. `device` is
    cuda or cpu. `clock` says who takes the time of a call on a GPU: its stream
    (`device`), or the `host`, which then waits until the device has finished; a
    dict says so for each job. `l2` is `cold` (filled with other data before
    each call) or `hot`. A run has so many `samples`, of one call each.
    """
    out = sys.stdout
    sys.stdout = sys.stderr  # What a function prints is not a row.
    timers = {"host": _Cpu()}
    if device != "cpu":
        timers = {word: _Gpu(word, l2) for word in ("device", "host")}
    named = {}
    for name, both in jobs.items():
        word = clock[name] if isinstance(clock, dict) else clock
        timer = timers["host" if device == "cpu" else word]
        settings = {"name": name, "samples": str(samples), **timer.settings}
        named[_job_id(settings, device)] = (settings, timer, both)
    for _, timer, both in named.values():
        for call in both * 3:  # Compiled, allocated, tuned: both sides alike.
            timer.seconds(call)
    for line in sys.stdin:
        side, *wanted = line.split()
        for job_id in wanted or named:
            settings, timer, both = named[job_id]
            row = {
                "schema": 1,
                "record": "row",
                "job_id": job_id,
                "mode": "command",
                "settings": settings,
                "status": "ok",
                "unit": "sample",
                "timed_unit": "item",
            }
            if device != "cpu":
                row |= {"device": device, "gpu": {"l2": l2}}
            row |= _run(timer, both[side == "b"], samples)
            print(json.dumps(row), file=out)
        print(file=out, flush=True)


def _run(timer, call, samples):
    gc.collect(0)
    gc.disable()
    try:
        timer.seconds(call)
        seconds = [timer.seconds(call) for _ in range(samples)]
    finally:
        gc.enable()
    return {
        "items": samples,
        "elapsed_s": sum(seconds),
        "throughput": samples / sum(seconds),
        "samples_s": seconds,
    }


def _job_id(settings, device):
    identity = {"mode": "command", "settings": settings}
    if device != "cpu":
        identity["device"] = device
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Cpu:
    settings = {}

    def seconds(self, call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start


class _Gpu:
    def __init__(self, clock, l2):
        import torch

        self._cuda = torch.cuda
        self._other = (
            torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device="cuda")
            if l2 == "cold"
            else None
        )
        self._host = clock == "host"
        self._begin, self._end = (
            torch.cuda.Event(enable_timing=True) for _ in range(2)
        )
        self.settings = {"clock": clock, "l2": l2}

    def seconds(self, call):
        if self._other is not None:
            self._other.fill_(1)
        if self._host:
            self._cuda.synchronize()
            start = time.perf_counter()
            call()
            self._cuda.synchronize()
            return time.perf_counter() - start
        self._begin.record()
        call()
        self._end.record()
        # Of all streams: work that this one does not wait for is not done.
        self._cuda.synchronize()
        return self._begin.elapsed_time(self._end) * 1e-3
