"""The hook of `audit` in real trainings of torch: which items it notes, from a
GPU too if there is one. Needs torch."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOK = ROOT / "python/feedrate/_audit"
# What the hook writes at the end is of a model that is still there.
MODELS = []


def fork_one_that_stays():
    """A process that ends after this one, as some of loaders do."""
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.close(writes)
        os.closerange(0, 3)
        os.read(reads, 1)
        os._exit(0)
    # `writes` is closed when this process has ended.


def training(device):
    """Prints the items and labels of each batch. A device that is late is the
    processor, of which all is copied and read as from another one."""
    import _feedrate_batches
    import _feedrate_codes as codes
    import torch
    from torch import nn

    if device == "late":
        device = "cpu"
        _feedrate_batches.on_device = lambda _: True
    torch.manual_seed(1)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3 * 16, 10)

        def forward(self, x):
            x = x.to(self.layer.weight.device)
            if x.dim() == 2:
                x = nn.functional.one_hot(x % 48, 48).sum(1).float()
                return self.layer(x)
            x = x.permute(0, 3, 1, 2) if x.shape[3] == 3 else x
            x = nn.functional.adaptive_avg_pool2d(x.float(), 4)
            return self.layer(x.flatten(1))

    def batches(kind):
        # More than one of the others has memory for.
        count = 130 if kind == "more images" else 16
        for number in range(4):
            ids = [(number * 977 + i * 61) % 60000 for i in range(count)]
            if kind == "tokens":
                rows = [[3, *codes.tokens_of(i, 40)] for i in ids]
                yield ids, torch.tensor(rows).to(device)
                continue
            rows = b"".join(b"".join(codes.rows_of(i, 96)) for i in ids)
            images = torch.frombuffer(bytearray(rows), dtype=torch.uint8)
            images = images.view(count, 96, 96, 3).permute(0, 3, 1, 2)
            yield ids, images.contiguous().to(device)

    def normalized(x):
        return (x.float() / 255 - 0.45) / 0.22

    buffer = torch.empty(16, 3, 96, 96, device=device)
    kinds = {
        "bytes": lambda x: x,
        "floats": normalized,
        "bfloat16": lambda x: normalized(x).bfloat16(),
        "channels last": lambda x: normalized(x).to(
            memory_format=torch.channels_last
        ),
        "images of rows": lambda x: normalized(x).permute(0, 2, 3, 1),
        "a part": lambda x: nn.functional.pad(normalized(x), (5, 3, 2, 9))[
            :, :, 2:98, 5:101
        ],
        "one buffer": lambda x: buffer.copy_(normalized(x)),
        "tokens": lambda x: x,
        "without labels": normalized,
        "more images": normalized,
        "images that the model moves": lambda x: normalized(x).cpu(),
    }
    truth = []
    for kind, change in kinds.items():
        model = Model().to(device)
        MODELS.append(model)
        run = (
            torch.compile(model, backend="aot_eager")
            if kind == "a part"
            else model
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for ids, images in batches(kind):
            labels = torch.tensor([i % 10 for i in ids]).to(device)
            if kind == "without labels":
                loss = run(change(images)).square().mean()
                truth.append([kind, ids, None])
            else:
                loss = nn.functional.cross_entropy(run(change(images)), labels)
                truth.append([kind, ids, labels.tolist()])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            # Loops may use the same memory again.
            labels.fill_(-1)
        if len(truth) == 4:
            fork_one_that_stays()
    print(json.dumps(truth), flush=True)


def loading():
    """Four batches of a loader, whose types torchdata's module names too."""
    import _feedrate_codes as codes
    import _feedrate_hook
    import torch
    from torch.utils import data

    names = {"StatefulDataLoader": data.DataLoader}
    names["_BaseDataLoaderIter"] = data.dataloader._BaseDataLoaderIter
    _feedrate_hook._install_stateful(types.SimpleNamespace(**names))
    rows = torch.tensor([codes.tokens_of(i, 12) for i in range(8)])
    model = torch.nn.Embedding(128, 2)
    for (batch,) in data.DataLoader(data.TensorDataset(rows), batch_size=2):
        model(batch)
    print(json.dumps([1, 2, 3, 4]))


def in_child():
    """A process that ends without atexit."""
    import multiprocessing

    process = multiprocessing.get_context("fork").Process(
        target=training, args=("cpu",)
    )
    process.start()
    process.join()


class TorchTest(unittest.TestCase):
    def notes(self, *arguments):
        """(what the training says, lists of lines by process)."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-B", __file__, *arguments],
                env={
                    **os.environ,
                    "PYTHONPATH": str(HOOK),
                    "FEEDRATE_AUDIT": folder,
                },
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("sitecustomize", done.stderr)
            files = sorted(pathlib.Path(folder).glob("*.jsonl"))
            lines = [
                [json.loads(line) for line in file.read_text().splitlines()]
                for file in files
            ]
        return json.loads(done.stdout), lines

    def check(self, truth, lines):
        self.assertEqual([n for n in lines if n["kind"] == "problem"], [])
        seen = []
        for line in lines:
            if line["kind"] == "batch":
                labels = line.get("labels")
                seen.append([line["ids"], labels, line["weights"]])
            if line["kind"] == "labels":
                seen[-1][1] = line["labels"]
        self.assertEqual([s[0] for s in seen], [t[1] for t in truth])
        self.assertEqual([s[1] for s in seen], [t[2] for t in truth])
        self.assertEqual(len({s[2] for s in seen}), len(truth))
        self.assertEqual(lines[-1]["kind"], "end_of_process")

    def test_items_labels_and_weights_of_each_batch(self):
        import torch

        for device in ["cpu", "late", *["cuda"] * torch.cuda.is_available()]:
            truth, (lines,) = self.notes(device)
            self.check(truth, lines)
            # Each step begins with other weights, and the end is one more.
            weights = {line.get("weights") for line in lines}
            self.assertIn(lines[-1]["weights"], weights - {None, 0})

    def test_a_loader_counts_each_batch_once(self):
        positions, (lines,) = self.notes("loader")
        found = [n["position"] for n in lines if n["kind"] == "batch"]
        self.assertEqual(found, positions)

    def test_a_process_of_multiprocessing_says_its_end(self):
        truth, (lines,) = self.notes("child")
        self.check(truth, lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        in_child()
    elif sys.argv[1:] == ["loader"]:
        loading()
    elif sys.argv[1:] in (["cpu"], ["late"], ["cuda"]):
        training(sys.argv[1])
    elif importlib.util.find_spec("torch") is None:
        print("left out: there is no torch here")
    else:
        unittest.main()
