"""The clock of a GPU, read through NVIDIA's management library, which comes
with the driver.

lib/machine/gpu.h is the same in C++.
"""

import ctypes
import os

_LIBRARIES = (
    "libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
)
_PROCESSORS = 1
_MEMORY = 2
_MOST_PROCESSES = 64
_NOT_KNOWN = 2**64 - 1


class Clock:
    """The clock of the GPU at a PCI bus id, such as 00000000:01:00.0."""

    def __init__(self, bus_id, libraries=_LIBRARIES):
        self._nvml = _load(libraries)
        _check(self._nvml.nvmlInit_v2(), "nvmlInit")
        self._device = ctypes.c_void_p()
        _check(
            self._nvml.nvmlDeviceGetHandleByPciBusId_v2(
                bus_id.encode(), ctypes.byref(self._device)
            ),
            "nvmlDeviceGetHandleByPciBusId",
        )
        mhz = ctypes.c_uint()
        failed = self._nvml.nvmlDeviceGetMaxClockInfo(
            self._device, _PROCESSORS, ctypes.byref(mhz)
        )
        self.max_mhz = 0 if failed else mhz.value
        # What the last reading said besides: `memory_mhz`, `temperature_c` and
        # `power_limit_w`, as far as the driver tells.
        self.besides = {}

    def read(self):
        """(MHz, bits of the reasons for throttling), or None when it cannot be
        read."""
        mhz, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        if self._nvml.nvmlDeviceGetClockInfo(
            self._device, _PROCESSORS, ctypes.byref(mhz)
        ):
            return None
        failed = self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(
            self._device, ctypes.byref(reasons)
        )
        self.besides = dict(self._read_besides())
        return mhz.value, 0 if failed else reasons.value

    def _read_besides(self):
        value = ctypes.c_uint()
        for name, function, which, unit in (
            ("memory_mhz", "nvmlDeviceGetClockInfo", (_MEMORY,), 1),
            ("temperature_c", "nvmlDeviceGetTemperature", (0,), 1),
            ("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", (), 1000),
        ):
            function = getattr(self._nvml, function, None)
            if function is None:
                continue
            if function(self._device, *which, ctypes.byref(value)) == 0:
                yield name, value.value / unit if unit > 1 else value.value


class _MemoryInfo(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class _ProcessInfo(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class Memory:
    """Memory of the first GPU that this process uses, including its context.
    Where the driver does not tell processes apart: memory that all processes
    have taken since this object was made, which is right where nobody else uses
    the GPU."""

    def __init__(self, library=None):
        self._nvml = library or _load(_LIBRARIES)
        _check(self._nvml.nvmlInit_v2(), "nvmlInit")
        self._device = ctypes.c_void_p()
        _check(
            self._nvml.nvmlDeviceGetHandleByIndex_v2(
                0, ctypes.byref(self._device)
            ),
            "nvmlDeviceGetHandleByIndex",
        )
        self._before = self._used()

    def taken(self):
        own = self.own()
        return max(self._used() - self._before, 0) if own is None else own

    def own(self):
        """Memory of this process alone; None where it is not known."""
        processes = (_ProcessInfo * _MOST_PROCESSES)()
        count = ctypes.c_uint(_MOST_PROCESSES)
        try:
            code = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(
                self._device, ctypes.byref(count), processes
            )
        except AttributeError:  # An older driver.
            return None
        if code != 0:
            return None
        for process in processes[: count.value]:
            if process.pid == os.getpid() and process.used != _NOT_KNOWN:
                return process.used
        return None

    def _used(self):
        info = _MemoryInfo()
        _check(
            self._nvml.nvmlDeviceGetMemoryInfo(
                self._device, ctypes.byref(info)
            ),
            "nvmlDeviceGetMemoryInfo",
        )
        return info.used


def _load(libraries):
    for library in libraries:
        try:
            return ctypes.CDLL(library)
        except OSError:
            continue
    raise OSError("NVIDIA's management library is not here")


def _check(code, call):
    if code:
        raise OSError(f"{call}: code {code}")
