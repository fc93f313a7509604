#!/usr/bin/env python3
"""PyTorch's own ways to train the models of lib/model: peers of worker_train.

    train_worker.py library=torch_compile model=vit5_small device=cuda ...

Takes the words that worker_train takes and answers with the same JSON lines, on
descriptor 3 where a runner listens, else on standard output. LIBRARIES has the
ways. What it cannot do is an error, never something else instead. The word
subject=MODULE:NAME trains a model of the user instead.
"""

import json
import math
import os
import stat
import sys
import time
import traceback

import process_setup
import train_measure as measure
import train_profile

WORDS = {
    "library": "torch_eager",
    "subject": "",
    # Only of a subject: eager or compile.
    "engine": "",
    "model": "vit5_tiny",
    "device": "cpu",
    "device_index": 0,
    "precision": "fp32",
    "optimizer": "adamw",
    "learning_rate": 1e-3,
    "weight_decay": 0.05,
    "clip_norm": 0.0,
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
    "count": 1,
    "profile": "",
    "profile_prefix": "",
    "profile_wait": 1,
    "profile_warmup": 1,
    "profile_active": 3,
    "profile_repeat": 1,
}

# The mode of torch.compile; None: operation by operation.
LIBRARIES = {
    "torch_eager": None,
    "torch_compile": "default",
    "torch_reduce_overhead": "reduce-overhead",
    "torch_max_autotune": "max-autotune",
    # Weights and activations in bf16, and cuDNN's attention.
    "torch_compile_bf16": "default",
}
BF16_WEIGHTS = "torch_compile_bf16"
# The module of this name, where a subject is trained.
subject = None


class Diverged(Exception):
    """The loss or the gradients are no longer finite."""


def answer(**fields):
    line = json.dumps(fields, allow_nan=False) + "\n"
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
    engines = ("", "eager", "compile") if spec["subject"] else ("",)
    if spec["engine"] not in engines:
        raise ValueError(f'no engine "{spec["engine"]}" here')
    if spec["engine"] == "compile":
        spec["library"] = "torch_compile"
    if spec["optimizer"] != "adamw" or not spec["optimizer_in_step"]:
        raise ValueError("PyTorch's peers have AdamW inside the step alone")
    if spec["graphs"]:
        raise ValueError(
            "graphs of PyTorch come with torch_reduce_overhead and "
            "torch_max_autotune"
        )
    if spec["library"] not in LIBRARIES:
        raise ValueError(f'library "{spec["library"]}" is unknown')
    if spec["library"] == BF16_WEIGHTS and spec["precision"] != "bf16":
        raise ValueError(f"{BF16_WEIGHTS} computes in bf16 alone")
    return spec


def method_of(spec):
    """How the library runs the model, in words."""
    mode = LIBRARIES[spec["library"]]
    words = f"torch.compile, mode {mode}" if mode else "eager"
    if spec["library"] == BF16_WEIGHTS:
        words += (
            "; weights, activations and residuals in bf16, no autocast; "
            "AdamW on fp32 masters, copied to the weights each step; "
        )
        words += (
            "cuDNN attention"
            if spec["device"] == "cuda"
            else "PyTorch's own attention (cuDNN needs CUDA)"
        )
    elif spec["precision"] in ("bf16", "fp16"):
        words += f"; {spec['precision']} by autocast"
    if spec["precision"] == "fp16":
        words += ", GradScaler"
    return words


def check_finite(values, what, first):
    """Diverged names the first of the steps from `first` on whose value is not
    finite."""
    for step, value in enumerate(values, first):
        if not math.isfinite(value):
            kind = "no number" if math.isnan(value) else "infinite"
            raise Diverged(
                f"{what} of step {step} is {kind}; try a lower "
                "--learning_rate, or --clip_norm"
            )


def make_batches(torch, spec, model_spec):
    """All inputs and targets of the synthetic set."""
    samples = spec["samples"] or 4 * spec["batch_size"]
    device = spec["device"]
    if model_spec.is_vit:
        side = model_spec.image
        return (
            torch.randn(samples, 3, side, side, device=device),
            torch.randint(model_spec.classes, (samples,), device=device),
        )
    text = torch.randint(
        97, 123, (samples, model_spec.context + 1), device=device
    )
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


class Training:
    """The model, its optimizer and its step."""

    def __init__(self, torch, spec):
        self.torch = torch
        self.spec = spec
        self.cuda = spec["device"] == "cuda"
        self.make_model()
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        # What the optimizer updates: the weights, or fp32 copies of them.
        self.masters = self.weights
        self.bf16_weights = spec["library"] == BF16_WEIGHTS
        if self.bf16_weights:
            self.masters = [
                p.detach().clone().requires_grad_() for p in self.weights
            ]
            for master in self.masters:
                master.grad = torch.zeros_like(master)
            self.model.to(torch.bfloat16)
            if self.cuda:
                torch.backends.cuda.enable_cudnn_sdp(True)
                torch.backends.cuda.enable_flash_sdp(False)
                torch.backends.cuda.enable_mem_efficient_sdp(False)
                torch.backends.cuda.enable_math_sdp(False)
        # Their own memory, also in the first step: what a CUDA graph returns is
        # overwritten by the next one.
        for weight in self.weights:
            weight.grad = torch.zeros_like(weight)
        self.optimizer = torch.optim.AdamW(
            [
                {
                    "params": [p for p in self.masters if p.dim() >= 2],
                    "weight_decay": spec["weight_decay"],
                },
                {
                    "params": [p for p in self.masters if p.dim() < 2],
                    "weight_decay": 0.0,
                },
            ],
            lr=spec["learning_rate"],
            fused=True,
        )
        self.scaler = torch.amp.GradScaler(
            spec["device"], enabled=spec["precision"] == "fp16"
        )
        mode = LIBRARIES[spec["library"]]
        self.has_graphs = mode in ("reduce-overhead", "max-autotune")
        self.forward = self.model
        if mode:
            self.forward = torch.compile(self.model, mode=mode)
        self.clock = measure.Clock(torch, self.cuda)
        self.losses, self.norms = [], []
        self.steps = 0
        self.range = train_profile.range_of(torch, False)

    def make_model(self):
        """The model where it is trained, and its data."""
        import train_model

        torch, spec = self.torch, self.spec
        model_spec = train_model.SPECS[spec["model"]]
        self.model = train_model.Model(model_spec).to(spec["device"])
        self.inputs, self.targets = make_batches(torch, spec, model_spec)
        if spec["library"] == BF16_WEIGHTS and model_spec.is_vit:
            self.inputs = self.inputs.to(torch.bfloat16)

    def loss_of(self, logits, targets):
        return self.torch.nn.functional.cross_entropy(
            logits.float().flatten(0, -2), targets.flatten()
        )

    def version(self):
        return self.torch.__version__

    def counted(self):
        """Fields of the answer about the model itself."""
        return {}

    def batch(self, micro):
        size, samples = self.spec["batch_size"], len(self.inputs)
        number = self.steps * self.spec["accumulation"] + micro
        first = (number * size % samples) // size * size
        return (
            self.inputs[first : first + size],
            self.targets[first : first + size],
        )

    def run_forward(self, inputs):
        return self.forward(inputs)

    def gradients(self, micro):
        """Adds those of one batch; returns its loss."""
        torch, spec, clock = self.torch, self.spec, self.clock
        with self.range("data"):
            x, y = self.batch(micro)
        clock.mark("data_wait")
        half = measure.half_type(torch, spec)
        with torch.autocast(
            spec["device"],
            dtype=half or torch.bfloat16,
            enabled=half is not None and not self.bf16_weights,
        ):
            with self.range("forward"):
                logits = self.run_forward(x)
            clock.mark("forward")
            with self.range("loss"):
                loss = self.loss_of(logits, y)
        loss = loss / spec["accumulation"]
        clock.mark("loss")
        with self.range("backward"):
            self.scaler.scale(loss).backward()
        clock.mark("backward")
        return loss.detach()

    def clip(self):
        """Norm of all gradients, which are clipped by it if asked to."""
        torch = self.torch
        if self.bf16_weights:
            torch._foreach_copy_(
                [p.grad for p in self.masters], [p.grad for p in self.weights]
            )
        self.scaler.unscale_(self.optimizer)
        grads = [p.grad for p in self.masters]
        norm = torch.nn.utils.get_total_norm(grads, foreach=True)
        if self.spec["clip_norm"] > 0:
            torch.nn.utils.clip_grads_with_norm_(
                self.masters, self.spec["clip_norm"], norm, foreach=True
            )
        return norm

    def step(self):
        torch, clock = self.torch, self.clock
        if self.has_graphs:
            torch.compiler.cudagraph_mark_step_begin()
        clock.start()
        total = 0
        for micro in range(self.spec["accumulation"]):
            total = total + self.gradients(micro)
        self.norms.append(self.clip())
        self.losses.append(total)
        clock.mark("other")
        with self.range("optimizer_step"):
            self.scaler.step(self.optimizer)
            if self.bf16_weights:
                with torch.no_grad():
                    torch._foreach_copy_(self.weights, self.masters)
        clock.mark("optimizer")
        self.scaler.update()
        self.model.zero_grad(set_to_none=False)
        clock.mark("other")
        clock.end()
        self.steps += 1

    def forget(self):
        for values in (self.clock.steps, self.losses, self.norms):
            values.clear()

    def learned(self):
        """Losses and gradient norms since `forget`, all of them finite."""
        losses = [float(loss) for loss in self.losses]
        norms = [float(norm) for norm in self.norms]
        first = self.steps - len(losses) + 1
        check_finite(losses, "the loss", first)
        if self.spec["precision"] != "fp16":
            check_finite(norms, "the gradient norm", first)
        return losses, norms


def place(value, device):
    """Tensors in any structure, on the device."""
    if hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, dict):
        return {name: place(one, device) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(place(one, device) for one in value)
    return value


class SubjectTraining(Training):
    """A model of the user, with its loss and its batch."""

    def make_model(self):
        spec = self.spec
        self._subject = subject.Subject(spec["subject"])
        made = self._subject.build(
            {name: spec[name] for name in ("batch_size", "device", "seed")}
        )
        self.model = made[0].to(spec["device"])
        self.model.train()
        self._loss = made[1]
        self._batch = place(made[2], spec["device"])

    def version(self):
        return f"{self._subject.version()} torch {self.torch.__version__}"

    def batch(self, micro):
        return self._batch

    def run_forward(self, inputs):
        if isinstance(inputs, dict):
            return self.forward(**inputs)
        if isinstance(inputs, (list, tuple)):
            return self.forward(*inputs)
        return self.forward(inputs)

    def loss_of(self, logits, targets):
        return self._loss(logits, targets)

    def counted(self):
        """Operations of a step, by a hook that sees each product of an eager
        step: what torch.compile does not change."""
        from torch.utils.flop_counter import FlopCounterMode

        compiled, self.forward = self.forward, self.model
        with FlopCounterMode(display=False) as counter:
            self.gradients(0)
        self.forward = compiled
        self.model.zero_grad(set_to_none=False)
        self.forget()
        return {
            "engine": self.spec["engine"] or "eager",
            "flops_per_step": float(
                counter.get_total_flops() * self.spec["accumulation"]
            ),
        }


def profile(torch, spec, training):
    """Fields of the answer about steps after the measured ones."""
    if not spec["count"] and not spec["profile"]:
        return {}
    training.range = train_profile.range_of(torch, True)
    try:
        traces, kernels, steps = train_profile.profile(
            torch, spec, training.step
        )
    except Exception:
        # What nobody asked for must not spoil the row.
        if spec["profile"]:
            raise
        return {}
    return {
        "traces": traces,
        "kernels": kernels.top(steps),
        "profiled_steps": steps,
        "matmul_types": kernels.types_per_step(steps),
    }


def run(spec):
    import torch

    cuda = spec["device"] == "cuda"
    if cuda:
        torch.cuda.set_device(spec["device_index"])
    if spec["threads"] > 0:
        torch.set_num_threads(spec["threads"])
    torch.manual_seed(spec["seed"])
    torch.backends.cuda.matmul.allow_tf32 = spec["precision"] == "tf32"
    training = (SubjectTraining if spec["subject"] else Training)(torch, spec)
    answer(event="ready", version=training.version())
    training.clock.start()
    counted = training.counted()

    told = time.perf_counter()
    measure.reset_peak(torch, cuda)
    total = spec["warmup"] + spec["steps"]
    for i in range(total):
        if i == spec["warmup"]:
            if cuda:
                torch.cuda.synchronize()
            training.learned()
            training.forget()
            joules = measure.gpu_joules(torch) if cuda else None
            allocations = measure.count_allocations(torch) if cuda else None
            start = time.perf_counter()
        training.step()
        if time.perf_counter() - told > 1:
            told = time.perf_counter()
            answer(event="progress", done=i + 1, total=total)
    if cuda:
        torch.cuda.synchronize()
    wall_s = time.perf_counter() - start
    fields = {}
    if joules is not None:
        fields["gpu_j"] = measure.gpu_joules(torch) - joules
    steps_s, phases = training.clock.times()
    losses, norms = training.learned()
    if spec["precision"] == "fp16":
        # GradScaler skips a step if a gradient is not finite.
        fields["skipped_steps"] = sum(not math.isfinite(n) for n in norms)
        fields["loss_scale"] = training.scaler.get_scale()
    allocated, reserved = measure.peak_memory(torch, cuda)
    if cuda:
        fields.update(measure.gpu_fields(torch, allocations))
    fields.update(profile(torch, spec, training))
    rates = measure.measure_rates(torch, spec) if spec["rates"] else (0, 0)
    answer(
        event="result",
        version=training.version(),
        parameters=sum(p.numel() for p in training.weights),
        method=method_of(spec),
        wall_s=wall_s,
        steps_s=steps_s,
        phases=phases,
        losses=losses,
        # Counts only steps that changed parameters.
        grad_norms=[norm for norm in norms if math.isfinite(norm)],
        memory_peak_bytes=allocated,
        memory_reserved_bytes=reserved,
        matmul_flops=rates[0],
        copy_bytes=rates[1],
        **counted,
        **fields,
    )


def main():
    global subject
    process_setup.avoid_hidden_sve()
    if any(word.startswith("subject=") for word in sys.argv):
        with process_setup.only_our_modules():
            import subject
    # Kineto prints warnings on every machine without a GPU.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    try:
        run(parse(sys.argv[1:]))
    except Exception as error:  # Whatever PyTorch raises is a row.
        traceback.print_exc()
        text = str(error).split("\n")[0] or type(error).__name__
        kind = "diverged" if isinstance(error, Diverged) else "failed"
        if subject and kind == "failed":
            text = subject.explain(error)
        oom = "out of memory" in str(error) or isinstance(error, MemoryError)
        answer(event="error", kind="oom" if oom else kind, error=text)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
