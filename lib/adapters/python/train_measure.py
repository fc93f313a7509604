"""What PyTorch's own ways to train measure: phases of steps, rates of the
device, memory and energy."""

import ctypes
import time


def gpu_joules(torch):
    """The GPU's counter of energy; None where the driver has none."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        device, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
        uuid = f"GPU-{torch.cuda.get_device_properties().uuid}".encode()
        failed = (
            nvml.nvmlInit_v2()
            or nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(device))
            or nvml.nvmlDeviceGetTotalEnergyConsumption(
                device, ctypes.byref(millijoules)
            )
        )
    except (OSError, AttributeError):
        return None
    return None if failed else millijoules.value * 1e-3


class Clock:
    """Marks of one step: events on CUDA, the monotonic clock on the CPU."""

    def __init__(self, torch, cuda):
        self.torch = torch
        self.cuda = cuda
        self.steps = []

    def now(self):
        if not self.cuda:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, a, b):
        return a.elapsed_time(b) / 1e3 if self.cuda else b - a

    def start(self):
        self.marks = [("", self.now())]

    def mark(self, phase):
        self.marks.append((phase, self.now()))

    def end(self):
        self.steps.append(self.marks)

    def times(self):
        steps, phases = [], {}
        for marks in self.steps:
            steps.append(self.between(marks[0][1], marks[-1][1]))
            for (_, before), (phase, after) in zip(
                marks, marks[1:], strict=False
            ):
                phases[phase] = phases.get(phase, 0) + self.between(
                    before, after
                )
        mean = {name: total / len(steps) for name, total in phases.items()}
        return steps, mean


def best_rate(torch, device, work, amount):
    """The best of five tries, in `amount` per second."""
    best = 0
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        best = max(best, amount / (time.perf_counter() - start))
    return best


def product_rate(torch, device, dtype, n):
    a = torch.randn(n, n, device=device, dtype=dtype)
    b = torch.randn(n, n, device=device, dtype=dtype)
    # Some CPUs multiply by a transposed matrix, as models do, in another
    # library.
    return max(
        best_rate(torch, device, lambda: a @ b, 2 * n**3),
        best_rate(torch, device, lambda: a @ b.T, 2 * n**3),
    )


def half_type(torch, spec):
    """The type of 16 bits in which products run, or None."""
    halves = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return halves.get(spec["precision"])


def measure_rates(torch, spec):
    device = spec["device"]
    cuda = device == "cuda"
    n, size = (8192, 2 << 30) if cuda else (1024, 128 << 20)
    half = half_type(torch, spec)
    dtypes = [half or torch.float32]
    if half and not cuda:
        # A CPU without units for this type is slower in it than in fp32, but
        # its peak is not lower for that.
        dtypes.append(torch.float32)
    source = torch.ones(size, device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    return (
        max(product_rate(torch, device, dtype, n) for dtype in dtypes),
        best_rate(torch, device, lambda: target.copy_(source), 2 * size),
    )


def peak_memory(torch, cuda):
    if cuda:
        return (
            torch.cuda.max_memory_allocated(),
            torch.cuda.max_memory_reserved(),
        )
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024, 0
    return 0, 0


def reset_peak(torch, cuda):
    if cuda:
        torch.cuda.reset_peak_memory_stats()
        return
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
    except OSError:
        pass  # The peak then counts from the start, which is more, not less.


def count_allocations(torch):
    """Tensors that got memory, and requests for memory of the driver."""
    stats = torch.cuda.memory_stats()
    return stats.get("allocation.all.allocated", 0), stats.get(
        "num_device_alloc", 0
    )


def gpu_fields(torch, before):
    after = count_allocations(torch)
    gpu = torch.cuda.get_device_properties()
    return {
        "gpu": gpu.name,
        "gpu_memory_bytes": gpu.total_memory,
        "allocations": after[0] - before[0],
        "device_allocations": after[1] - before[1],
    }
