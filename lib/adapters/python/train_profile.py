"""Profiles of PyTorch's peers, as lib/model/torch/profiler.cc makes ours:
traces, the longest kernels by part of the step, and types of products."""

import contextlib
import os

# at::RecordScope::USER_SCOPE in torch.
USER_SCOPE = 7
# The parts of a step; PyTorch has ranges of its own inside of them.
RANGES = ("data", "forward", "loss", "backward", "optimizer_step")
TOP_KERNELS = 30
# Shapes of many tensors, as of an optimizer, say nothing beyond this length.
LONGEST_SHAPES = 60
TYPES = {
    "float": "fp32",
    "double": "fp64",
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
}
# Products, and where among their inputs the first factor is.
PRODUCTS = {
    "aten::mm": 0,
    "aten::bmm": 0,
    "aten::mv": 0,
    "aten::addmm": 1,
    "aten::baddbmm": 1,
}
ATTENTION = "aten::_scaled_dot_product_"


def range_of(torch, profiling):
    """Named ranges of traces, only where they are wanted: they cost time."""
    if profiling:
        return torch.profiler.record_function
    return lambda name: contextlib.nullcontext()


def shapes_of(event):
    text = ", ".join(
        "x".join(map(str, shape)) for shape in event.shapes() if shape
    )
    if len(text) > LONGEST_SHAPES:
        return text[:LONGEST_SHAPES] + "..."
    return text


def product_type(event):
    """The type of a matrix product, or None."""
    name, place = event.name(), PRODUCTS.get(event.name())
    if name.startswith(ATTENTION) and "_math" not in name:
        # Backward takes the gradient first.
        place = 1 if "backward" in name else 0
    types = event.dtypes()
    if place is None or place >= len(types):
        return None
    return TYPES.get(types[place], types[place])


class Kernels:
    """Times by part of the step, name and shapes."""

    def __init__(self, cuda):
        self.cuda = cuda
        self.times = {}
        self.types = {}

    def add(self, events):
        """The events of one or more profiled steps."""
        on_device = {e: "CUDA" in str(e.device_type()) for e in events}
        ranges = [e for e in events if e.name() in RANGES]
        launchers = {
            e.correlation_id(): e
            for e in events
            if not on_device[e] and e.scope() != USER_SCOPE
        }

        # The backward pass runs on threads of its own while the range waits for
        # them, so time decides, not the thread.
        def part_of(event):
            around = [
                r
                for r in ranges
                if on_device[r] == on_device[event]
                and r.start_ns() <= event.start_ns() < r.end_ns()
            ]
            if not around:
                return "other"
            name = max(around, key=lambda r: r.start_ns()).name()
            return "optimizer" if name == "optimizer_step" else name

        by_thread = {}
        for event in events:
            if event.scope() == USER_SCOPE:
                continue
            if not on_device[event]:
                kind = product_type(event)
                if kind:
                    self.types[kind] = self.types.get(kind, 0) + 1
            if on_device[event] != self.cuda:
                continue
            if not self.cuda:
                by_thread.setdefault(event.start_thread_id(), []).append(event)
                continue
            if event.is_user_annotation():
                continue  # A range around kernels, such as a compiled graph.
            launcher = launchers.get(event.linked_correlation_id())
            self._add(
                part_of(launcher or event),
                event.name(),
                shapes_of(launcher) if launcher else "",
                event.duration_ns(),
            )
        for thread in by_thread.values():
            for event, self_ns in self_times(thread):
                self._add(
                    part_of(event), event.name(), shapes_of(event), self_ns
                )

    def _add(self, part, name, shapes, ns):
        time = self.times.setdefault((part, name, shapes), [0, 0])
        time[0] += ns * 1e-9
        time[1] += 1

    def top(self, steps):
        """The longest, as fields of a StepKernel; means over `steps`."""
        parts = {}
        for (part, _, _), (total_s, _) in self.times.items():
            parts[part] = parts.get(part, 0) + total_s
        longest = sorted(self.times.items(), key=lambda time: -time[1][0])
        return [
            {
                "part": part,
                "name": name,
                "shapes": shapes,
                "step_s": total_s / steps,
                "calls": calls / steps,
                "share": total_s / parts[part] if parts[part] else 0,
            }
            for (part, name, shapes), (total_s, calls) in longest[:TOP_KERNELS]
        ]

    def types_per_step(self, steps):
        return {kind: round(n / steps) for kind, n in self.types.items()}


def self_times(events):
    """(event, its nanoseconds without nested events), of one thread."""
    stack, done = [], []
    for event in sorted(events, key=lambda e: (e.start_ns(), -e.end_ns())):
        while stack and stack[-1][0].end_ns() <= event.start_ns():
            done.append(stack.pop())
        if stack:
            stack[-1][1] -= event.duration_ns()
        stack.append([event, event.duration_ns()])
    return done + stack


def profile(torch, spec, step):
    """Profiles calls of `step`. Returns files, kernels and their steps.

    Without `profile` in the spec, one step, and no file.
    """
    cuda = spec["device"] == "cuda"
    activities = [torch.profiler.ProfilerActivity.CPU]
    if cuda:
        activities.append(torch.profiler.ProfilerActivity.CUDA)

    def run(count):
        with torch.profiler.profile(
            activities=activities, record_shapes=True, acc_events=True
        ) as profiler:
            for _ in range(count):
                step()
            if cuda:
                torch.cuda.synchronize()
        return profiler

    kind = spec["profile"]
    active = spec["profile_active"] if kind else 1
    cycles = spec["profile_repeat"] if kind else 1
    prefix = f"{spec['profile_prefix']}.{spec['library']}"
    kernels, files = Kernels(cuda), []
    for cycle in range(cycles):
        for _ in range(spec["profile_wait"] if kind else 0):
            step()
        run(spec["profile_warmup"] if kind else 1)
        profiler = run(active)
        kernels.add(profiler.profiler.kineto_results.events())
        if not kind:
            continue
        file = f"{prefix}.{cycle}.json"
        if kind == "tb":
            file = f"{prefix}/rank0.{cycle}.pt.trace.json"
        os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
        profiler.export_chrome_trace(file)
        # PyTorch says nothing where it could not write.
        if not os.path.exists(file):
            raise OSError(f"{file}: cannot be written")
        files.append(file)
    return files, kernels, active * cycles
