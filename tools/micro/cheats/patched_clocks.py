"""Makes the clocks of Python a hundred times slower, in every module."""

import sys
import time

import honest

OUTCOME = "harmless"
WHY = "the clock is in another process"


def _slower(clock, unit):
    start = clock()
    return lambda: start + unit((clock() - start) / 100)


def _patch():
    for name in ("perf_counter", "monotonic", "time", "process_time"):
        for suffix, unit in (("", float), ("_ns", int)):
            clock = getattr(time, name + suffix)
            fake = _slower(clock, unit)
            for module in list(sys.modules.values()):
                for key, value in list(getattr(module, "__dict__", {}).items()):
                    if value is clock:
                        setattr(module, key, fake)


_patch()
sharpen = honest.sharpen
