"""The timed loop: the clock around the call, and nothing else between.

The garbage collector is off while it runs. So that libraries whose objects
form cycles cannot fill the memory, it runs by hand between two samples once as
many objects wait as would have started it by itself.
"""

import array
import gc
import os
import statistics
import time

_COLLECT_ABOVE = 700  # Python's own default for the youngest generation.


def time_calls(call, inputs, chunk=1, limit_s=0, fresh=None):
    """Returns (seconds of each chunk of calls, number of calls made).

    An output lives until the clock has been read, then it is dropped. Stops
    after the chunk with which the whole has taken more than limit_s (0: never).
    fresh(input), if given, makes the input of each call, untimed.
    """
    call = _slowed(call)
    samples = array.array("q", bytes(8 * -(-len(inputs) // chunk)))
    collecting = gc.isenabled()
    gc.disable()
    try:
        if chunk == 1:
            # Lazily, so that a copy is made just before its call.
            items = map(fresh, inputs) if fresh else inputs
            done = _time_each(call, items, samples, limit_s)
        else:
            chunks = [
                inputs[first : first + chunk]
                for first in range(0, len(inputs), chunk)
            ]
            if fresh:
                chunks = (list(map(fresh, items)) for items in chunks)
            done = _time_chunks(call, chunks, samples, limit_s)
    finally:
        if collecting:
            gc.enable()
    calls = min(done * chunk, len(inputs))
    return [nanoseconds / 1e9 for nanoseconds in samples[:done]], calls


def _slowed(call):
    """`call`, or one that takes longer where a gate is tried out.

    As lib/base/injected_slowdown.h: a busy loop of so many percent.
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


def clock_pair_s(pairs=2000):
    """What two readings of the clock cost: the least a sample can show."""
    clock = time.perf_counter_ns
    samples = array.array("q", bytes(8 * pairs))
    for i in range(pairs):
        begin = clock()
        end = clock()
        samples[i] = end - begin
    return statistics.median(samples) / 1e9


def _time_each(call, inputs, samples, limit_s):
    clock = time.perf_counter_ns
    waiting = gc.get_count
    stop_at = clock() + int(limit_s * 1e9) if limit_s > 0 else float("inf")
    done = 0
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
    return done


def _time_chunks(call, chunks, samples, limit_s):
    clock = time.perf_counter_ns
    stop_at = clock() + int(limit_s * 1e9) if limit_s > 0 else float("inf")
    done = 0
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
    return done
