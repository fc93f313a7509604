"""The loop around calls on a device: marks on its stream, not the host's clock.

Calls are enqueued as fast as the library can, so a sample holds the device's
work, or what the host takes to start it where that is longer. Flushing the
caches and reading the device's clock are outside.
lib/adapters/worker/device_timing.h is the same in C++.
"""

import gc
import time


def time_on_device(device, calls, chunk, limit_s=0, cold=False):
    """Times every `chunk` of (call, input, items) on `device`.

    `calls` is read lazily, so that inputs can be made just before, untimed; a
    call may go through several items. Returns the reply of a `time` command.
    """
    clocks, reasons = [], 0
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
            "peak_allocated_bytes": allocated,
            "peak_reserved_bytes": reserved,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
        },
    }


def _chunks(calls, size):
    some = []
    for call in calls:
        some.append(call)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
