"""A CUDA device that is timed through torch.

Nothing here runs before a job asks for it: a process that has used CUDA cannot
be forked.
"""

import torch
from devices import nvml

# Several times the largest L2.
_FLUSH_BYTES = 512 << 20
_COPIES = 5


class CudaDevice:
    def __init__(self):
        if not torch.cuda.is_available():
            raise RuntimeError("no CUDA device is here; use device cpu")
        self._device = torch.device("cuda", 0)
        self._other = torch.empty(
            _FLUSH_BYTES, dtype=torch.uint8, device=self._device
        )
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        try:
            self._clock = nvml.Clock(_bus_id())
        except (OSError, AttributeError):
            # Rows say nothing of a clock then, and are rows all the same.
            self._clock = None
        self.max_clock_mhz = self._clock.max_mhz if self._clock else 0

    def place(self, tensor):
        return tensor.to(self._device)

    def stack(self, tensors):
        """A batch, or an error that says why it cannot be made."""
        shapes = {tuple(tensor.shape) for tensor in tensors}
        if len(shapes) > 1:
            raise ValueError(
                f"images of {len(shapes)} sizes make no batch for this library;"
                " use a data set of one size, or leave gpu_batch out"
            )
        return torch.stack(tensors)

    def flush(self):
        self._other.fill_(1)
        torch.cuda.synchronize()

    def begin(self):
        self._begin.record()

    def end(self):
        self._end.record()
        self._end.synchronize()
        return self._begin.elapsed_time(self._end) * 1e-3

    def reset_peaks(self):
        torch.cuda.reset_peak_memory_stats()

    def peaks(self):
        """(allocated, reserved) bytes, without the buffer that flushes the
        caches."""
        return (
            torch.cuda.max_memory_allocated() - _FLUSH_BYTES,
            torch.cuda.max_memory_reserved() - _FLUSH_BYTES,
        )

    def free_memory(self):
        """The free memory, as text."""
        try:
            free, total = torch.cuda.mem_get_info(self._device)
        except RuntimeError as error:
            return f"what is free is not known: {error}"
        return f"{free / 2**30:.2f} GiB of {total / 2**30:.2f} GiB is free"

    def read_clock(self):
        return self._clock.read() if self._clock else None

    def besides_clock(self):
        """Of the last reading of the clock, as nvml.Clock.besides."""
        return self._clock.besides if self._clock else {}

    def copy_bytes_per_s(self):
        """Bytes read plus bytes written per second, within the device."""
        half = _FLUSH_BYTES // 2
        least = float("inf")
        for _ in range(_COPIES):
            self.begin()
            self._other[half:].copy_(self._other[:half])
            least = min(least, self.end())
        return 2 * half / least


def _bus_id():
    properties = torch.cuda.get_device_properties(0)
    return (
        f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:"
        f"{properties.pci_device_id:02x}.0"
    )
