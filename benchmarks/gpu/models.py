"""Models of the usual sizes, in plain PyTorch: ResNet-50, BERT-base, GPT-2 small, and a small one of dense layers.

Only their kernels matter: the weights are random, and so are the batches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["MODELS", "Model"]


class Bottleneck(nn.Module):
    """Three convolutions and the way around them."""

    def __init__(self, width: int, inner: int, stride: int):
        super().__init__()
        outer = 4 * inner
        self.body = nn.Sequential(
            *_convolution(width, inner, 1, 1),
            nn.ReLU(inplace=True),
            *_convolution(inner, inner, 3, stride),
            nn.ReLU(inplace=True),
            *_convolution(inner, outer, 1, 1),
        )
        same = width == outer and stride == 1
        self.around = nn.Identity() if same else nn.Sequential(*_convolution(width, outer, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        """The block's output, of the same or half the size."""
        return functional.relu(self.body(x) + self.around(x))


class Block(nn.Module):
    """Attention and two dense layers; the norms before them (GPT-2) or after them (BERT)."""

    def __init__(self, width: int, heads: int, *, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.before_attention, self.before_dense = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x: Tensor) -> Tensor:
        """Attention of a batch of sequences, shape (batch, length, width)."""
        batch, length, width = x.shape
        parts = self.queries_keys_values(x).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: Tensor) -> Tensor:
        """The block's output, of the same shape."""
        if self.causal:
            x = x + self.attention(self.before_attention(x))
            return x + self.dense(self.before_dense(x))
        x = self.before_attention(x + self.attention(x))
        return self.before_dense(x + self.dense(x))


class Language(nn.Module):
    """Embeddings, blocks and the scores of all words: BERT-base or GPT-2 small without dropout."""

    def __init__(self, words: int, length: int, *, causal: bool, layers: int = 12, width: int = 768, heads: int = 12):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, causal=causal) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores, shape (batch, words, length), as the loss wants them."""
        places = self.places(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.norm(self.blocks(self.words(tokens) + places))
        return functional.linear(x, self.words.weight).transpose(1, 2)


@dataclass(frozen=True)
class Model:
    """A model to be made, its batch and its labels, and how many steps are measured together."""

    make: Callable[[], nn.Module]
    batch: Callable[[int], tuple[Tensor, Tensor]]
    size: int
    steps: int
    optimizer: Callable[..., torch.optim.Optimizer]
    options: dict[str, Any]
    low_precision: bool = True


def _convolution(width: int, outer: int, kernel: int, stride: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(width, outer, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outer)


def resnet50() -> nn.Module:
    """ResNet-50: 25.6 million weights."""
    layers: list[nn.Module] = [*_convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for stage, (inner, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            layers.append(Bottleneck(width, inner, 2 if block == 0 and stage else 1))
            width = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def _dense() -> nn.Module:
    layers = [layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(512, 10))


def _images(size: int) -> tuple[Tensor, Tensor]:
    return torch.randn(size, 3, 224, 224), torch.randint(1000, (size,))


def _vectors(size: int) -> tuple[Tensor, Tensor]:
    return torch.randn(size, 512), torch.randint(10, (size,))


def _texts(words: int, length: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda size: (torch.randint(words, (size, length)), torch.randint(words, (size, length)))


SGD, ADAMW = torch.optim.SGD, torch.optim.AdamW
MODELS = {
    "mlp": Model(_dense, _vectors, 128, 100, SGD, {"lr": 1e-3}, low_precision=False),
    "resnet": Model(resnet50, _images, 64, 5, SGD, {"lr": 1e-2, "momentum": 0.9}),
    "bert": Model(
        lambda: Language(30522, 512, causal=False), _texts(30522, 128), 32, 8, ADAMW, {"lr": 1e-4, "fused": True}
    ),
    "gpt2": Model(
        lambda: Language(50257, 1024, causal=True), _texts(50257, 512), 8, 8, ADAMW, {"lr": 1e-4, "fused": True}
    ),
}
