#!/usr/bin/env python3
"""Duels on a GPU whose answer is known: unchanged kernels, loaders and training
steps, kernels with 2% more to do, and both beside a neighbor that takes a part
of the GPU. Prints a table, and exits with 3 if an unchanged one is called
slower, or fewer than 95% of those that took 2% longer are found.

    dev/gpu_duels.py run --bin=FOLDER [--part=kernels,slow]

Parts: kernels, mixed (products, loaders, training steps), slow, neighbor,
processes (a process per run instead of both sides in one). Each runs --times
times; a duel has 50 jobs, or 10 of the mixed ones.

FOLDER has `duel` and `compare_baseline`, python/ of the repository is in
PYTHONPATH or beside FOLDER. On a machine without torch, --device=cpu does the
same with loops in Python, to try the program itself.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
for folder in (HERE.parents[1] / "python", HERE.parent / "python"):
    if folder.is_dir():
        sys.path.append(str(folder))

# So many more rows that most kernels take 2.1% longer: what they take without
# any row is some 2%. Less than 2% is the same, by design.
MORE = 1.0215
# Rows of 4096 floats: 1 and 0.75 GB, many times L2.
ROWS = (65536, 49152)
WIDTH = 4096
DUTIES = (0.4, 0.1, 0.3, 0.2)


def kernels(torch, rows):
    """Functions whose work is in proportion to `rows`, by name."""
    x = torch.randn(rows, WIDTH, device="cuda")
    y = x.flip(0)
    half = x[: rows // 2].bfloat16()
    words = torch.randint(0, 255, (rows, WIDTH), device="cuda").byte()
    order = torch.randperm(rows, device="cuda")
    f = torch.nn.functional
    return {
        "add": lambda: x + y,
        "multiply": lambda: x * 3,
        "copy": lambda: x.clone(),
        "gelu": lambda: f.gelu(x),
        "exp": lambda: x.exp(),
        "sigmoid": lambda: x.sigmoid(),
        "erfinv": lambda: x.erfinv(),
        "where": lambda: torch.where(x > 0, x, y),
        "softmax": lambda: f.softmax(x, -1),
        "log_softmax": lambda: f.log_softmax(x, -1),
        "layer_norm": lambda: f.layer_norm(x, (WIDTH,)),
        "rms_norm": lambda: f.rms_norm(half, (WIDTH,)),
        "sum of rows": lambda: x.sum(-1),
        "largest of rows": lambda: x.amax(-1),
        "gather": lambda: x[order],
        "bytes to floats": lambda: words.float(),
        "floats to bf16": lambda: x.bfloat16(),
        "add in place": lambda: y.add_(1),
        "polynomial": lambda: torch.addcmul(x, x, y),
        "tanh": lambda: x.tanh(),
        "log1p": lambda: x.log1p(),
        "clamp": lambda: x.clamp(-1, 1),
        "softplus": lambda: f.softplus(x),
        "negative": lambda: -x,
        "sign": lambda: x.sign(),
    }


def products(torch):
    f = torch.nn.functional
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(8, 16, 1024, 64, device="cuda", dtype=torch.bfloat16)
    image = torch.randn(64, 64, 56, 56, device="cuda", dtype=torch.bfloat16)
    filters = torch.randn(64, 64, 3, 3, device="cuda", dtype=torch.bfloat16)
    return {
        "product 4096": lambda: a @ a,
        "attention": lambda: f.scaled_dot_product_attention(q, q, q),
        "convolution": lambda: f.conv2d(image, filters, padding=1),
    }


def loaders(torch):
    """Batches of images from memory to normalized floats on the GPU."""
    images = torch.randint(0, 255, (1024, 3, 96, 96), dtype=torch.uint8)
    pinned = images[:256].clone().pin_memory()
    dataset = torch.utils.data.TensorDataset(images)
    stream = torch.cuda.Stream()
    order = torch.randperm(1024)[:256]

    def plain():
        for (batch,) in torch.utils.data.DataLoader(
            torch.utils.data.Subset(dataset, range(256)), batch_size=64
        ):
            batch.cuda().float().div_(255)

    def indexed():
        images[order].cuda().float().div_(255)

    def copied():
        pinned.cuda(non_blocking=True).float().div_(255)

    def on_a_stream():
        with torch.cuda.stream(stream):
            batch = pinned.cuda(non_blocking=True).float()
        torch.cuda.current_stream().wait_stream(stream)
        batch.div_(255)

    return {
        "loader: DataLoader": plain,
        "loader: indexed": indexed,
        "loader: pinned": copied,
        "loader: second stream": on_a_stream,
    }


def steps(torch):
    """Training steps."""
    nn = torch.nn

    def step_of(model, batch):
        model = model.cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0, fused=True)

        def step():
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(batch).float().square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step

    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    return {
        "step: perceptron": step_of(
            nn.Sequential(
                nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048)
            ),
            torch.randn(4096, 2048, device="cuda"),
        ),
        "step: transformer": step_of(
            nn.TransformerEncoder(layer, 2), torch.randn(32, 256, 512).cuda()
        ),
        "step: convolutions": step_of(
            nn.Sequential(
                nn.Conv2d(3, 64, 7, 2), nn.ReLU(), nn.Conv2d(64, 128, 3, 2)
            ),
            torch.randn(64, 3, 128, 128).cuda(),
        ),
    }


def jobs_on_gpu(kind):
    """The jobs of a kind, and who takes their time."""
    import torch

    torch.manual_seed(1)
    if kind in ("slow", "kernels"):
        both = {}
        for rows in ROWS:
            more = kernels(torch, int(rows * (MORE if kind == "slow" else 1)))
            for name, call in kernels(torch, rows).items():
                other = more[name] if kind == "slow" else call
                both[f"{name}, {rows} rows"] = (call, other)
        return both, "device"
    on_device = products(torch)
    on_host = loaders(torch) | steps(torch)
    clock = dict.fromkeys(on_device, "device") | dict.fromkeys(on_host, "host")
    calls = on_device | on_host
    return {name: (call, call) for name, call in calls.items()}, clock


def loop(count):
    def call():
        total = 0
        for i in range(count):
            total += i
        return total

    return call


def serve(flags):
    from feedrate import sides

    if flags.device == "cpu":
        factor = MORE if flags.kind == "slow" else 1
        jobs = {
            f"loop {n}": (loop(n), loop(int(n * factor)))
            for n in range(20000, 30000, 500)
        }
        sides.serve(jobs, device="cpu")
        return
    jobs, clock = jobs_on_gpu(flags.kind)
    sides.serve(jobs, clock=clock, samples=flags.samples)


def neighbor(flags):
    """Takes a share of the GPU in bursts, ten times a second, until it is
    killed."""
    if flags.device == "cpu":
        work = loop(2000)
    else:
        import torch

        a = torch.randn(4096, 4096, device="cuda")

        def work():
            a @ a
            torch.cuda.synchronize()

        work()
    print("ready", flush=True)
    while True:
        start = time.perf_counter()
        while time.perf_counter() - start < 0.1 * flags.duty:
            work()
        time.sleep(0.1 * (1 - flags.duty))


class Count:
    def __init__(self):
        self.verdicts = {}
        self.changes = []
        self.seconds = 0
        self.shared = 0
        # Jobs whose B took at least 2% longer, and those of them called slower.
        self.long = 0
        self.found = 0

    def add(self, verdicts):
        for verdict in verdicts:
            word = verdict["verdict"]
            self.verdicts[word] = self.verdicts.get(word, 0) + 1
            if "effect" in verdict:
                percent = verdict["effect"]["percent"]
                self.changes.append(percent)
                self.long += percent >= 2
                self.found += percent >= 2 and word == "slower"
            self.shared += "used the GPU" in verdict.get("reason", "")

    def line(self, name):
        words = ("slower", "faster", "same", "cannot_tell", "invalid")
        counts = [self.verdicts.get(word, 0) for word in words]
        changes = sorted(self.changes) or [0]
        middle = changes[len(changes) // 2]
        return (
            f"| {name} | {sum(counts)} | {' | '.join(map(str, counts))} |"
            f" {middle:+.2f}% ({changes[0]:+.2f} to {changes[-1]:+.2f}) |"
            f" {self.shared} | {self.seconds:.0f} s |"
        )


def duel(flags, kind, in_processes=False, seed=0):
    """Runs a duel of all jobs of a kind, and returns its verdicts."""
    own = f"{sys.executable} {HERE} serve --kind={kind} --device={flags.device}"
    sides = [f"--both={own}"]
    if in_processes:
        sides = [f"--{s}=echo {s} | {own}" for s in "ab"]
        sides += ["--rows", "--rerun=all"]
    rows = pathlib.Path(flags.rows or tempfile.mkdtemp())
    rows.mkdir(exist_ok=True)
    path = rows / f"{kind}{'_processes' if in_processes else ''}_{seed}.jsonl"
    command = [
        *(f"{flags.bin}/duel", *sides, f"--output={path}", "--quiet"),
        *("--metrics=time", f"--max_pairs={flags.max_pairs}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    judged = subprocess.run(
        [
            *(f"{flags.bin}/compare_baseline", "--paired", "--metrics=time"),
            *(f"--current={path}", "--format=jsonl"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    records = [json.loads(line) for line in judged.stdout.splitlines()]
    if not records:
        sys.exit(f"compare_baseline: {judged.stderr[-2000:]}")
    return [v for v in records if v.get("scope") == "job"]


def measure(flags, part, counts):
    def add(name, verdicts, start):
        count = counts.setdefault(name, Count())
        count.add(verdicts)
        count.seconds += time.perf_counter() - start
        print(count.line(name), flush=True)

    for i in range(flags.times):
        start = time.perf_counter()
        if part == "slow":
            add("2.15% more rows", duel(flags, "slow", seed=i), start)
            continue
        if part == "processes":
            add(
                "unchanged, a process per run",
                duel(flags, "mixed", in_processes=True, seed=i),
                start,
            )
            continue
        other = None
        name = f"unchanged, {part}"
        if part == "neighbor":
            duty = DUTIES[i % len(DUTIES)]
            name = "unchanged, beside a neighbor"
            other = subprocess.Popen(
                [
                    *(sys.executable, HERE, "neighbor", f"--duty={duty}"),
                    f"--device={flags.device}",
                ],
                stdout=subprocess.PIPE,
            )
            other.stdout.readline()
        try:
            kind = "mixed" if part == "mixed" else "kernels"
            add(name, duel(flags, kind, seed=f"{part}_{i}"), start)
        finally:
            if other:
                other.kill()
                other.wait()


def run(flags):
    counts = {}
    print(
        "| duels | jobs | slower | faster | same | cannot tell | invalid |"
        " change: median (range) | shared GPU | took |\n"
        "|---|---|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    for part in flags.part.split(","):
        measure(flags, part, counts)
    print("\nTogether:")
    wrong = False
    for name, count in counts.items():
        print(count.line(name))
        if name.startswith("unchanged"):
            wrong |= count.verdicts.get("slower", 0) > 0
            continue
        print(f"{count.found} of {count.long} with 2% or more are found")
        wrong |= count.found < 0.95 * count.long
    return 3 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "serve", "neighbor"))
    parser.add_argument("--bin", default="bin", help="folder of the programs")
    parser.add_argument(
        "--part", default="kernels,mixed,slow,neighbor,processes"
    )
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--max_pairs", type=int, default=30)
    parser.add_argument("--rows", help="folder to keep the rows in")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--kind", default="mixed")
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--duty", type=float, default=0.3)
    flags = parser.parse_args()
    if flags.what == "run":
        return run(flags)
    {"serve": serve, "neighbor": neighbor}[flags.what](flags)
    return 0


if __name__ == "__main__":
    sys.exit(main())
