"""Runs a ViT that `train --export=FILE` wrote, in PyTorch: its classes for
images that are normalized as in training, batch x 3 x side x side.

    from load_weights import Vit
    logits = Vit("vit.safetensors")(images)
"""

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch.nn import functional as F


class Vit(torch.nn.Module):
    def __init__(self, file):
        super().__init__()
        with safe_open(file, "pt") as opened:
            self.about = opened.metadata()
        self.w = load_file(file)

    def linear(self, name, x):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def norm(self, name, x):
        return F.rms_norm(x, x.shape[-1:], self.w[name + ".weight"], 1e-6)

    def turn(self, x, side):
        """Rotates the last side * side tokens, which are patches."""
        pairs = x.shape[-1] // 4
        steps = 100.0 ** -(torch.arange(pairs, dtype=torch.float64) / pairs)
        place = torch.arange(side * side, dtype=torch.float64)
        angles = torch.cat(
            [
                torch.outer(place // side, steps),
                torch.outer(place % side, steps),
            ],
            dim=1,
        )
        angles = F.pad(angles.repeat(1, 2), (0, 0, x.shape[-2] - side**2, 0))
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat([-second, first], dim=-1)
        return x * angles.cos().float() + turned * angles.sin().float()

    def block(self, name, x, side):
        heads = (3, int(self.about["heads"]), -1)
        qkv = self.linear(name + "qkv", self.norm(name + "attention_norm", x))
        q, k, v = qkv.unflatten(-1, heads).permute(2, 0, 3, 1, 4)
        q = self.turn(self.norm(name + "q_norm", q), side)
        k = self.turn(self.norm(name + "k_norm", k), side)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        mixed = self.linear(name + "projection", mixed.flatten(2))
        x = x + self.w[name + "attention_scale"] * mixed
        hidden = self.linear(name + "up", self.norm(name + "mlp_norm", x))
        hidden = self.linear(name + "down", F.gelu(hidden))
        return x + self.w[name + "mlp_scale"] * hidden

    def forward(self, images):
        size = int(self.about["patch_size"])
        side = images.shape[-1] // size
        patches = self.linear("patch", F.unfold(images, size, stride=size).mT)
        first = torch.cat([self.w["class_token"], self.w["registers"]], dim=1)
        x = torch.cat([first.expand(len(images), -1, -1), patches], dim=1)
        layers = sum(name.endswith(".qkv.weight") for name in self.w)
        for i in range(layers):
            x = self.block(f"blocks.{i}.", x, side)
        return self.linear("head", self.norm("norm", x[:, 0]))
