"""The timed loops: around calls on the CPU, and around calls on a device.

lib/adapters/worker/timing.h is the same in C++.

The garbage collector is off while a loop runs. It runs between two samples once
as many objects wait as would have started it, so that libraries whose objects
form cycles cannot fill the memory.
"""

import array
import gc
import os
import statistics
import time

import numpy as np

_COLLECT_ABOVE = 700  # Python's own default for the youngest generation.
_PROBE_EVERY_NS = 4_000_000


_ONES = np.ones(1000)
_SUMS = np.empty(1000)
_BYTES = bytes(range(256)) * 32
_TURNED = bytes(reversed(range(256)))


def take_probe():
    """Nanoseconds of a loop that keeps a core busy, and of one in which each
    step waits for the one before; see TakeProbe in
    lib/adapters/worker/timing_loop.h. Both are loops in C: one of the
    interpreter takes 6 or 8 us on an idle Neoverse V1, from process to process
    and from minute to minute."""
    clock = time.perf_counter_ns
    wide, chain = [], []
    for _ in range(2):
        begin = clock()
        _BYTES.translate(_TURNED)
        middle = clock()
        np.add.accumulate(_ONES, out=_SUMS)
        end = clock()
        wide.append(middle - begin)
        chain.append(end - middle)
    return min(wide), min(chain)


def time_calls(call, inputs, chunk=1, limit_s=0, fresh=None, probes=None):
    """Returns (seconds of each chunk of calls, number of calls made).

    An output lives until the clock has been read, then it is dropped. Stops
    after the chunk with which the whole has taken more than limit_s (0: never).
    fresh(input), if given, makes the input of each call, untimed. `probes`, a
    list, gets (number of samples before it, *take_probe()): before the first
    sample, after the last, and between samples.
    """
    call = _slowed(call)

    def probe(done):
        if probes is not None:
            probes.append((done, *take_probe()))

    samples = array.array("q", bytes(8 * -(-len(inputs) // chunk)))
    collecting = gc.isenabled()
    gc.disable()
    probe(0)
    try:
        if chunk == 1:
            # Lazily, so that a copy is made just before its call.
            items = map(fresh, inputs) if fresh else inputs
            done = _time_each(call, items, samples, limit_s, probe)
        else:
            chunks = [
                inputs[first : first + chunk]
                for first in range(0, len(inputs), chunk)
            ]
            if fresh:
                chunks = (list(map(fresh, items)) for items in chunks)
            done = _time_chunks(call, chunks, samples, limit_s, probe)
        probe(done)
    finally:
        if collecting:
            gc.enable()
    calls = min(done * chunk, len(inputs))
    return [nanoseconds / 1e9 for nanoseconds in samples[:done]], calls


def _slowed(call):
    """`call`, or a slower one for testing the gate.

    As in lib/base/injected_slowdown.h: a busy loop of so many percent.
    """
    try:
        percent = float(os.environ.get("FEEDRATE_SLOWDOWN_PERCENT", "0"))
    except ValueError:
        percent = 0
    if not 0 < percent < float("inf"):
        return call
    clock = time.perf_counter_ns

    def slow_call(item):
        begin = clock()
        output = call(item)
        end = clock()
        until = end + (end - begin) * percent / 100
        while clock() < until:
            pass
        return output

    return slow_call


def waited_s():
    """Seconds in which this thread has waited for a processor, or None."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


def clock_pair_s(pairs=2000):
    """The cost of two clock readings: the smallest possible sample."""
    clock = time.perf_counter_ns
    samples = array.array("q", bytes(8 * pairs))
    for i in range(pairs):
        begin = clock()
        end = clock()
        samples[i] = end - begin
    return statistics.median(samples) / 1e9


def _time_each(call, inputs, samples, limit_s, probe):
    clock = time.perf_counter_ns
    waiting = gc.get_count
    stop_at = clock() + int(limit_s * 1e9) if limit_s > 0 else float("inf")
    done = 0
    probe_at = clock() + _PROBE_EVERY_NS
    for item in inputs:
        begin = clock()
        output = call(item)
        end = clock()
        del output
        samples[done] = end - begin
        done += 1
        if end > stop_at:
            break
        if waiting()[0] > _COLLECT_ABOVE:
            gc.collect(0)
        if end > probe_at:
            probe(done)
            probe_at = end + _PROBE_EVERY_NS
    return done


def _time_chunks(call, chunks, samples, limit_s, probe):
    clock = time.perf_counter_ns
    stop_at = clock() + int(limit_s * 1e9) if limit_s > 0 else float("inf")
    done = 0
    probe_at = clock() + _PROBE_EVERY_NS
    for items in chunks:
        output = None
        begin = clock()
        for item in items:
            output = call(item)
        end = clock()
        del output
        samples[done] = end - begin
        done += 1
        if end > stop_at:
            break
        gc.collect(0)
        if end > probe_at:
            probe(done)
            probe_at = end + _PROBE_EVERY_NS
    return done


def time_on_device(device, calls, chunk, limit_s=0, cold=False):
    """Times every `chunk` of (call, input, items) on `device`, by marks on its
    stream, not by the host's clock.

    Calls are enqueued as fast as the library can, so a sample holds the
    device's work, or what the host takes to start it where that is longer.
    Flushing the caches and reading the device's clock are outside.

    `calls` is read lazily, so that inputs can be made just before, untimed; a
    call may go through several items. Returns the reply of a `time` command.
    """
    clocks, besides, reasons = [], [], 0
    samples, items, bytes_in, bytes_out = [], 0, 0, 0
    device.reset_peaks()
    stop_at = time.perf_counter() + limit_s if limit_s > 0 else float("inf")
    collecting = gc.isenabled()
    gc.disable()
    try:
        for some in _chunks(calls, chunk):
            if cold:
                device.flush()
            written = 0
            device.begin()
            for call, item, _ in some:
                output = call(item)
                written += output.nbytes
            samples.append(device.end())
            del output
            items += sum(count for _, _, count in some)
            # What a decoder is given is a path: nothing on the device.
            bytes_in += sum(getattr(item, "nbytes", 0) for _, item, _ in some)
            bytes_out += written
            clock = device.read_clock()
            if clock is not None:
                clocks.append(clock[0])
                reasons |= clock[1]
                besides.append(device.besides_clock())
            if time.perf_counter() > stop_at:
                break
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()
    allocated, reserved = device.peaks()
    return {
        "samples_s": samples,
        "items": items,
        "device": {
            # A clock that answers now and then says nothing about the rest.
            "clocks_mhz": clocks if len(clocks) == len(samples) else [],
            "max_clock_mhz": device.max_clock_mhz,
            "throttle_reasons": reasons,
            **_gpu_state(besides, len(samples)),
            "peak_allocated_bytes": allocated,
            "peak_reserved_bytes": reserved,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
        },
    }


def _gpu_state(readings, samples):
    """Fields of what was read beside the clock, after each sample."""
    fields = {}
    memory = [r["memory_mhz"] for r in readings if "memory_mhz" in r]
    if len(memory) == samples:
        fields["memory_clocks_mhz"] = memory
    for name in ("temperature_c", "power_limit_w"):
        values = [r[name] for r in readings if name in r]
        if values:
            fields[name] = max(values)
    return fields


def _chunks(calls, size):
    some = []
    for call in calls:
        some.append(call)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
