"""Trains a small ViT on a folder per class, and prints the share of each step
that it waited for data. The loaders are in image_loaders.py.

    python examples/train_vit.py FOLDER --loader=feedrate|dataloader|dali
"""

import argparse
import time

import torch
from image_loaders import LOADERS
from torch.nn.functional import cross_entropy
from torchvision.models import VisionTransformer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder")
parser.add_argument("--loader", choices=LOADERS, default="feedrate")
for name, value in (("batch_size", 64), ("crop", 224), ("epochs", 1)):
    parser.add_argument(f"--{name}", type=int, default=value)
flags = parser.parse_args()

loader = LOADERS[flags.loader](flags.folder, flags.batch_size, flags.crop)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = VisionTransformer(flags.crop, 16, 2, 3, 192, 768).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(flags.epochs):
    start = time.perf_counter()
    for step, (images, labels) in enumerate(loader):
        ready = time.perf_counter()
        loss = cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} step {step}: loss {loss.item():.3f}", end=", ")
        end = time.perf_counter()
        print(f"waiting {(ready - start) / (end - start):.1%}")
        start = end
