"""Your own model: a function that returns it with its loss and a batch.

    train --subject=my_model:build --batch_size=16

It takes those arguments that it names: batch_size, device, seed.
"""

import torch
from torch import nn


def build(batch_size):
    model = nn.Sequential(
        nn.Conv2d(3, 32, 7, stride=4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    images = torch.randn(batch_size, 3, 96, 96)
    labels = torch.randint(10, (batch_size,))
    return model, nn.CrossEntropyLoss(), (images, labels)
