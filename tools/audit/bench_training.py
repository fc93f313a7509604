#!/usr/bin/env python3
"""A training whose steps are timed, for dev/bench.sh hook: ResNet-18 on images
that say which item they are, by torch's DataLoader.

    bench_training.py [name=value...]

Settings: steps, batch, side (of crops), items, workers, device, compile, sync
(whether each step waits for its loss, as loops do that print it). Prints a row:
seconds per step, their median, and CPU seconds of a step as `usage`.
PYTHONPATH must have the hook, python/feedrate/_audit; with FEEDRATE_AUDIT it
notes each batch, and with turns=1 every second one: standard error gets the
ratio of these steps to those before them.
"""

import json
import random
import statistics
import sys
import time

import _feedrate_codes as codes
import torch
from torch import nn

SETTINGS = {
    "steps": 12,
    "warmup": 3,
    "batch": 64,
    "side": 64,
    "items": 997,
    "workers": 0,
    "device": "cpu",
    "compile": 0,
    "sync": 1,
    "turns": 0,
}


class Block(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.short = nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x):
        return nn.functional.relu(self.body(x) + self.short(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for width in (64, 128, 256, 512):
        layers.append(Block(before, width, 1 if width == 64 else 2))
        layers.append(Block(width, width, 1))
        before = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return nn.Sequential(*layers)


class Images(torch.utils.data.Dataset):
    """Random crops and flips; an epoch has each image many times, so that its
    beginnings take no time."""

    def __init__(self, items, side):
        self.side = side
        rows = [b"".join(codes.rows_of(i, side * 5 // 4)) for i in range(items)]
        data = torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.uint8)
        self.data = data.view(items, side * 5 // 4, side * 5 // 4, 3)

    def __len__(self):
        return 64 * len(self.data)

    def __getitem__(self, item):
        item %= len(self.data)
        y, x = torch.randint(self.side // 4, (2,)).tolist()
        image = self.data[item, y : y + self.side, x : x + self.side]
        if torch.rand(()) < 0.5:
            image = image.flip(1)
        return image.permute(2, 0, 1), item % 10


def batches(loader):
    while True:
        yield from loader


def take_turns(number):
    """Switches the hook on or off."""
    recorder = sys.modules["_feedrate_hook"].RECORDER
    if number % 2:
        recorder.__dict__.pop("note_call", None)
    else:
        recorder.note_call = lambda *_: None


def ratio_text(what, times):
    """Of steps with the hook to those before them, with its 95% interval."""
    ratios = [b / a for a, b in zip(times[::2], times[1::2], strict=False)]
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(ratios, k=len(ratios)))
        for _ in range(2000)
    )
    return (
        f"{what} of {len(ratios)} steps with the hook to those without:"
        f" {statistics.median(ratios):.4f} [{medians[50]:.4f},"
        f" {medians[1949]:.4f}]"
    )


def main():
    words = dict(word.split("=", 1) for word in sys.argv[1:])
    of = {k: type(v)(words.pop(k, v)) for k, v in SETTINGS.items()}
    if words:
        sys.exit(f"bench_training.py: no settings: {', '.join(words)}")
    torch.manual_seed(1)
    model = resnet18().to(of["device"])
    run = torch.compile(model) if of["compile"] else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    on_device = of["device"] != "cpu"
    loader = torch.utils.data.DataLoader(
        Images(of["items"], of["side"]),
        batch_size=of["batch"],
        shuffle=True,
        drop_last=True,
        num_workers=of["workers"],
        persistent_workers=of["workers"] > 0,
        pin_memory=on_device,
    )
    steps, cpu = [], []
    at = time.perf_counter(), time.process_time()
    for number, (images, labels) in enumerate(batches(loader)):
        if of["turns"]:
            take_turns(number - of["warmup"])
        images = images.to(of["device"], non_blocking=True)
        images = images.float().div_(58).sub_(2)
        labels = labels.to(of["device"], non_blocking=True)
        with torch.autocast(of["device"], torch.bfloat16, enabled=on_device):
            loss = nn.functional.cross_entropy(run(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        is_last = number + 1 == of["steps"] + of["warmup"]
        if of["sync"] or is_last or number < of["warmup"]:
            loss.item()
        now = time.perf_counter(), time.process_time()
        if number >= of["warmup"]:
            steps.append(now[0] - at[0])
            cpu.append(now[1] - at[1])
        at = now
        if is_last:
            break
    if of["turns"]:
        print(ratio_text("seconds", steps), file=sys.stderr)
        print(ratio_text("CPU seconds", cpu), file=sys.stderr)
    # Without sync a step only begins; together they take their time.
    step = statistics.median(steps) if of["sync"] else statistics.mean(steps)
    row = {"schema": 1, "record": "row", "job_id": "0" * 16, "status": "ok"}
    row |= {"mode": "micro", "transform": "step", "unit": "step", "items": 1}
    row |= {"elapsed_s": step, "samples_s": [step], "throughput": 1 / step}
    row["usage"] = {"cpu_s": statistics.median(cpu)}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
