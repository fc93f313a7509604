"""A CUDA device that is timed through its driver alone: for libraries that come
without torch.

The counterpart of torch_device.py. Nothing here runs before a job asks for it:
a process that has used CUDA cannot be forked.
"""

import ctypes

from devices import nvml

_LIBRARY = "libcuda.so.1"
_BUS_ID_BYTES = 32


class Driver:
    """Calls of the driver, with their results checked."""

    def __init__(self, library=None):
        if library is None:
            try:
                library = ctypes.CDLL(_LIBRARY)
            except OSError as error:
                raise RuntimeError(
                    f"no CUDA driver is here ({error}); use device cpu"
                ) from None
        self._library = library

    def call(self, name, *arguments):
        code = getattr(self._library, name)(*arguments)
        if code == 0:
            return
        word = ctypes.c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(word))
        known = word.value.decode() if word.value else f"code {code}"
        # As CUDA says it elsewhere: rows are told apart by these words.
        if known == "CUDA_ERROR_OUT_OF_MEMORY":
            known += ": out of memory"
        raise RuntimeError(f"{name}: {known}")


def use_first_device(driver):
    """Makes the device's primary context, which runtime libraries in this
    process use too, the context of this thread. Returns the device."""
    driver.call("cuInit", 0)
    device = ctypes.c_int()
    driver.call("cuDeviceGet", ctypes.byref(device), 0)
    context = ctypes.c_void_p()
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.call("cuCtxSetCurrent", context)
    return device


class DriverDevice:
    """The first device. A library that waits for its work before it returns is
    timed correctly whatever its streams are."""

    def __init__(self, driver=None, clock=nvml.Clock, memory=nvml.Memory):
        self._driver = driver or Driver()
        device = use_first_device(self._driver)
        self._begin = self._event()
        self._end = self._event()
        self._free_at_first, _ = self._memory()
        try:
            self._of_process = memory()
        except (OSError, AttributeError):
            self._of_process = None
        self._own_at_first = self._own()
        try:
            self._clock = clock(self._bus_id(device))
        except (OSError, AttributeError):
            # Rows say nothing of a clock then, and are rows all the same.
            self._clock = None
        self.max_clock_mhz = self._clock.max_mhz if self._clock else 0

    def begin(self):
        self._driver.call("cuEventRecord", self._begin, None)

    def end(self):
        self._driver.call("cuEventRecord", self._end, None)
        self._driver.call("cuEventSynchronize", self._end)
        milliseconds = ctypes.c_float()
        self._driver.call(
            "cuEventElapsedTime",
            ctypes.byref(milliseconds),
            self._begin,
            self._end,
        )
        return milliseconds.value * 1e-3

    def reset_peaks(self):
        """Pools grow and stay, so the last reading is the peak."""

    def peaks(self):
        """(allocated, reserved) bytes that this process has taken since this
        object was made; where that is not known, bytes taken by all processes.
        Pools cannot be told apart, so both numbers are equal."""
        own = self._own()
        if own is not None and self._own_at_first is not None:
            taken = own - self._own_at_first
        else:
            free, _ = self._memory()
            taken = self._free_at_first - free
        return max(taken, 0), max(taken, 0)

    def free_memory(self):
        """The free memory, as text."""
        try:
            free, total = self._memory()
        except RuntimeError as error:
            return f"what is free is not known: {error}"
        return f"{free / 2**30:.2f} GiB of {total / 2**30:.2f} GiB is free"

    def read_clock(self):
        return self._clock.read() if self._clock else None

    def besides_clock(self):
        """Of the last reading of the clock, as nvml.Clock.besides."""
        return self._clock.besides if self._clock else {}

    def _event(self):
        event = ctypes.c_void_p()
        self._driver.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def _own(self):
        return self._of_process.own() if self._of_process else None

    def _memory(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.call(
            "cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total)
        )
        return free.value, total.value

    def _bus_id(self, device):
        text = ctypes.create_string_buffer(_BUS_ID_BYTES)
        self._driver.call("cuDeviceGetPCIBusId", text, _BUS_ID_BYTES, device)
        return text.value.decode()
