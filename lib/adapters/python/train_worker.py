#!/usr/bin/env python3
"""PyTorch's own ways to train the models of lib/model: peers of worker_train.

    train_worker.py library=torch_compile model=vit5_small device=cuda ...

Takes the words that worker_train takes and answers with the same JSON lines, on
descriptor 3 where a runner listens, else on standard output. Libraries:
torch_eager, torch_compile, torch_max_autotune. What it cannot do is an error,
never something else instead.
"""

import json
import os
import stat
import sys
import time
import traceback

import process_setup

WORDS = {
    "library": "torch_eager",
    "model": "vit5_tiny",
    "device": "cpu",
    "precision": "fp32",
    "optimizer": "adamw",
    "learning_rate": 1e-3,
    "batch_size": 32,
    "accumulation": 1,
    "warmup": 200,
    "steps": 100,
    "seed": 0,
    "threads": 0,
    "optimizer_in_step": 1,
    "graphs": 0,
    "samples": 0,
    "rates": 1,
}


def answer(**fields):
    line = json.dumps(fields) + "\n"
    try:
        fd = 3 if stat.S_ISSOCK(os.fstat(3).st_mode) else 1
    except OSError:
        fd = 1
    os.write(fd, line.encode())


def parse(words):
    spec = dict(WORDS)
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in WORDS:
            raise ValueError(f'"{word}" is nothing that PyTorch\'s peers do')
        spec[name] = type(WORDS[name])(value)
    if spec["optimizer"] != "adamw" or not spec["optimizer_in_step"]:
        raise ValueError("PyTorch's peers have AdamW inside the step alone")
    if spec["graphs"]:
        raise ValueError("graphs of PyTorch come with torch_max_autotune")
    return spec


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


def measure_rates(torch, spec):
    device = spec["device"]
    cuda = device == "cuda"
    n, size = (8192, 2 << 30) if cuda else (1024, 128 << 20)
    bf16 = spec["precision"] == "bf16"
    dtypes = [torch.bfloat16] if bf16 else [torch.float32]
    if bf16 and not cuda:
        # A CPU without units for bf16 is slower in it than in fp32, but its
        # peak is not lower for that.
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


def run(spec):
    import torch
    import train_model

    cuda = spec["device"] == "cuda"
    if spec["threads"] > 0:
        torch.set_num_threads(spec["threads"])
    torch.manual_seed(spec["seed"])
    torch.backends.cuda.matmul.allow_tf32 = spec["precision"] == "tf32"
    model_spec = train_model.SPECS[spec["model"]]
    model = train_model.Model(model_spec).to(spec["device"])
    decays = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": decays, "weight_decay": 0.05},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=spec["learning_rate"],
        fused=True,
    )
    forward = model
    if spec["library"] == "torch_compile":
        forward = torch.compile(model)
    elif spec["library"] == "torch_max_autotune":
        forward = torch.compile(model, mode="max-autotune")
    elif spec["library"] != "torch_eager":
        raise ValueError(f'library "{spec["library"]}" is unknown')
    answer(event="ready", version=torch.__version__)

    batch = spec["batch_size"]
    samples = spec["samples"] or 4 * batch
    if model_spec.is_vit:
        side = model_spec.image
        inputs = torch.randn(samples, 3, side, side, device=spec["device"])
        targets = torch.randint(
            model_spec.classes, (samples,), device=spec["device"]
        )
    else:
        text = torch.randint(
            97, 123, (samples, model_spec.context + 1), device=spec["device"]
        )
        inputs, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    clock = Clock(torch, cuda)
    losses, norms = [], []
    told = time.perf_counter()

    def step(index):
        clock.start()
        total = 0
        for micro in range(spec["accumulation"]):
            first = (
                (index * spec["accumulation"] + micro) * batch % samples
            ) // batch
            x = inputs[first * batch : (first + 1) * batch]
            y = targets[first * batch : (first + 1) * batch]
            clock.mark("data_wait")
            with torch.autocast(
                spec["device"],
                dtype=torch.bfloat16,
                enabled=spec["precision"] == "bf16",
            ):
                logits = forward(x)
                clock.mark("forward")
                loss = torch.nn.functional.cross_entropy(
                    logits.float().flatten(0, -2), y.flatten()
                )
            loss = loss / spec["accumulation"]
            clock.mark("loss")
            loss.backward()
            clock.mark("backward")
            total = total + loss.detach()
        norms.append(
            torch.linalg.vector_norm(
                torch.stack(
                    torch._foreach_norm([p.grad for p in model.parameters()])
                )
            )
        )
        losses.append(total)
        clock.mark("other")
        optimizer.step()
        clock.mark("optimizer")
        optimizer.zero_grad(set_to_none=False)
        clock.mark("other")
        clock.end()

    reset_peak(torch, cuda)
    total = spec["warmup"] + spec["steps"]
    for i in range(total):
        if i == spec["warmup"]:
            if cuda:
                torch.cuda.synchronize()
            clock.steps.clear()
            losses.clear()
            norms.clear()
            start = time.perf_counter()
        step(i)
        if time.perf_counter() - told > 1:
            told = time.perf_counter()
            answer(event="progress", done=i + 1, total=total)
    if cuda:
        torch.cuda.synchronize()
    wall_s = time.perf_counter() - start
    steps_s, phases = clock.times()
    allocated, reserved = peak_memory(torch, cuda)
    rates = measure_rates(torch, spec) if spec["rates"] else (0, 0)
    answer(
        event="result",
        version=torch.__version__,
        parameters=sum(p.numel() for p in model.parameters()),
        wall_s=wall_s,
        steps_s=steps_s,
        phases=phases,
        losses=[float(loss) for loss in losses],
        grad_norms=[float(norm) for norm in norms],
        memory_peak_bytes=allocated,
        memory_reserved_bytes=reserved,
        matmul_flops=rates[0],
        copy_bytes=rates[1],
        matmul_types={},
        kernels=[],
        traces=[],
    )


def main():
    process_setup.avoid_hidden_sve()
    try:
        run(parse(sys.argv[1:]))
    except Exception as error:  # Whatever PyTorch raises is a row.
        traceback.print_exc()
        text = str(error).split("\n")[0] or type(error).__name__
        oom = "out of memory" in str(error) or isinstance(error, MemoryError)
        answer(event="error", kind="oom" if oom else "failed", error=text)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
