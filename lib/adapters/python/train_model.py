"""The models of lib/model in PyTorch: the same shapes, the same operations.

Peers of `train`. Each operation is the one that lib/model/torch/parts.cc calls,
so that eager rows differ in who calls; the gradients are autograd's own, where
ours has two by hand (lib/model/torch/parts.h).
"""

import dataclasses

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Spec:
    """As lib/model/flops.cc has it."""

    layers: int
    width: int
    heads: int
    image: int = 0
    patch: int = 0
    classes: int = 0
    context: int = 0
    registers: int = 4
    vocabulary: int = 256

    @property
    def is_vit(self):
        return self.image > 0

    @property
    def tokens(self):
        if not self.is_vit:
            return self.context
        return (self.image // self.patch) ** 2 + 1 + self.registers


SPECS = {
    "vit5_base": Spec(12, 768, 12, image=224, patch=16, classes=1000),
    "vit5_small": Spec(12, 384, 6, image=224, patch=16, classes=1000),
    "vit5_tiny": Spec(4, 64, 2, image=32, patch=4, classes=10),
    "byte_lm_small": Spec(12, 512, 8, context=1024),
    "byte_lm_tiny": Spec(4, 128, 4, context=256),
}


def angles(positions, pairs, base):
    steps = torch.arange(pairs, dtype=torch.float64) / pairs
    return torch.outer(positions.double(), base ** (-steps))


def rotation(spec):
    """cos and sin, tokens x head width."""
    head = spec.width // spec.heads
    if spec.is_vit:
        side = spec.image // spec.patch
        patch = torch.arange(side * side)
        placed = torch.cat(
            [
                angles(patch // side, head // 4, 100.0),
                angles(patch % side, head // 4, 100.0),
            ],
            dim=1,
        )
        still = torch.zeros(1 + spec.registers, head // 2, dtype=torch.float64)
        turn = torch.cat([still, placed])
    else:
        turn = angles(torch.arange(spec.context), head // 2, 10000.0)
    turn = torch.cat([turn, turn], dim=1)
    return turn.cos().float(), turn.sin().float()


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        weight = self.weight.to(x.dtype)
        return F.rms_norm(x, weight.shape, weight, 1e-6)


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([-second, first], dim=-1)
    return torch.addcmul(x * cos.to(x.dtype), turned, sin.to(x.dtype))


class Block(nn.Module):
    def __init__(self, spec):
        super().__init__()
        width = spec.width
        self.heads = spec.heads
        self.causal = not spec.is_vit
        scale = 0.1 if spec.is_vit else 1.0
        self.attention_norm = RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_norm = RmsNorm(width // spec.heads)
        self.k_norm = RmsNorm(width // spec.heads)
        self.projection = nn.Linear(width, width, bias=False)
        self.attention_scale = nn.Parameter(torch.full((width,), scale))
        self.mlp_norm = RmsNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.mlp_scale = nn.Parameter(torch.full((width,), scale))

    def forward(self, x, cos, sin):
        batch, tokens, width = x.shape
        qkv = self.qkv(self.attention_norm(x))
        q, k, v = (
            qkv.view(batch, tokens, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        q = rotate(self.q_norm(q).to(v.dtype), cos, sin)
        k = rotate(self.k_norm(k).to(v.dtype), cos, sin)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, width)
        x = torch.addcmul(x, self.projection(mixed), self.attention_scale)
        hidden = self.down(F.gelu(self.up(self.mlp_norm(x))))
        return torch.addcmul(x, hidden, self.mlp_scale)


class Model(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        width = spec.width
        if spec.is_vit:
            self.patch = nn.Linear(3 * spec.patch**2, width)
            self.class_token = nn.Parameter(torch.zeros(1, 1, width))
            self.registers = nn.Parameter(torch.zeros(1, spec.registers, width))
            nn.init.normal_(self.class_token, std=0.02)
            nn.init.normal_(self.registers, std=0.02)
        else:
            self.embedding = nn.Embedding(spec.vocabulary, width)
        self.blocks = nn.ModuleList(Block(spec) for _ in range(spec.layers))
        self.norm = RmsNorm(width)
        outputs = spec.classes if spec.is_vit else spec.vocabulary
        self.head = nn.Linear(width, outputs, bias=spec.is_vit)
        cos, sin = rotation(spec)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def patches(self, image):
        size, side = self.spec.patch, self.spec.image // self.spec.patch
        batch = image.shape[0]
        return (
            image.view(batch, 3, side, size, side, size)
            .permute(0, 2, 4, 1, 3, 5)
            .reshape(batch, side * side, 3 * size * size)
        )

    def forward(self, x):
        if self.spec.is_vit:
            batch = x.shape[0]
            x = torch.cat(
                [
                    self.class_token.expand(batch, -1, -1),
                    self.registers.expand(batch, -1, -1),
                    self.patch(self.patches(x)),
                ],
                dim=1,
            )
        else:
            x = self.embedding(x)
        cos, sin = self.cos[: x.shape[1]], self.sin[: x.shape[1]]
        for block in self.blocks:
            x = block(x, cos, sin)
        if self.spec.is_vit:
            x = x[:, 0]
        return self.head(self.norm(x))
