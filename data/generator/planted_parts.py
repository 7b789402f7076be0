"""What the planted programs consist of: the operations of a training step and of a decoding step, by number.

A base number stands for one operation; a symbol is a base number and a shape (a sequence length, say). The sizes are
those of a transformer: 13 operations of input and embedding, 16 in a forward layer, 8 for the loss, 33 in a backward
layer, 48 in the optimizer: 1,245 with 24 layers.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "BASES", "CHECKPOINT", "COLLECTIVE", "EXTRA", "FUSED_PAIRS", "NAMES", "SHAPED", "Loop", "Shape", "batch",
    "checkpoint", "decode", "evaluation", "loops", "optimizer", "prefill", "tuning",
]  # fmt: skip

Ints = npt.NDArray[np.int64]

_SIZES = {
    "input": 5, "embedding": 8, "forward": 13, "loss": 8, "backward": 29, "optimizer": 4, "tuning": 30, "evaluate": 6,
    "checkpoint": 2, "extra": 5, "part": 3, "fused": 1, "prefill": 11, "decode": 13, "sample": 7,
}  # fmt: skip
NAMES = [f"{part}_{number:02d}" for part, size in _SIZES.items() for number in range(size)]
BASES = len(NAMES)


def _of(part: str) -> Ints:
    first = NAMES.index(f"{part}_00")
    return np.arange(first, first + _SIZES[part], dtype=np.int64)


INPUT, EMBEDDING, LOSS, TUNING, EVALUATE = map(_of, ("input", "embedding", "loss", "tuning", "evaluate"))
OPTIMIZER, CHECKPOINT, EXTRA, PART, FUSED = map(_of, ("optimizer", "checkpoint", "extra", "part", "fused"))
PREFILL, DECODE, SAMPLE = map(_of, ("prefill", "decode", "sample"))
# A layer holds some kernels twice, and a backward layer three of the forward layer's.
FORWARD = _of("forward")[np.arange(16) % 13]
BACKWARD = _of("backward")[np.arange(33) % 29]
BACKWARD[[5, 13, 22]] = FORWARD[[1, 4, 7]]
COLLECTIVE = int(BACKWARD[28])
"""The base number of the all-reduce at the end of a backward layer, which runs on a stream of its own."""
BACKWARD[[28, 32]] = BACKWARD[[32, 28]]
SHAPED = np.isin(
    np.arange(BASES), np.concatenate([EMBEDDING, FORWARD, LOSS, BACKWARD, PART, FUSED, PREFILL])
) & ~np.isin(np.arange(BASES), [COLLECTIVE])
"""Which base operations have another grid for each shape of the input."""
SPLIT_AT, JOINED_AT = 6, 9
FUSED_PAIRS = (
    (FORWARD[SPLIT_AT : SPLIT_AT + 1].tolist(), PART.tolist()),
    (BACKWARD[JOINED_AT : JOINED_AT + 3].tolist(), FUSED.tolist()),
)
"""Where fusion changes a layer: a forward kernel becomes three, three backward kernels become one."""


@dataclass(frozen=True)
class Shape:
    """What the operations of a step depend on: the shape of its input, its layers, and how its kernels are fused."""

    number: int = 0
    layers: int = 24
    fused: bool = False

    def symbols(self, bases: Ints) -> Ints:
        """The symbols of base operations in this shape."""
        return np.where(SHAPED[bases], bases + BASES * self.number, bases)

    @property
    def forward(self) -> Ints:
        """The base operations of a forward layer."""
        return np.r_[FORWARD[:SPLIT_AT], PART, FORWARD[SPLIT_AT + 1 :]] if self.fused else FORWARD

    @property
    def backward(self) -> Ints:
        """The base operations of a backward layer."""
        return np.r_[BACKWARD[:JOINED_AT], FUSED, BACKWARD[JOINED_AT + 3 :]] if self.fused else BACKWARD


@dataclass(frozen=True)
class Loop:
    """A repetition inside an iteration: `count` times `period` operations from `offset` on."""

    offset: int
    period: int
    count: int


def batch(shape: Shape) -> Ints:
    """One batch forward and backward."""
    forward, backward = np.tile(shape.forward, shape.layers), np.tile(shape.backward, shape.layers)
    return shape.symbols(np.concatenate([INPUT, EMBEDDING, forward, LOSS, backward]))


def optimizer() -> Ints:
    """The optimizer's step: two kernels 16 times each, then two that take turns 8 times."""
    return np.r_[np.repeat(OPTIMIZER[:2], 16), np.tile(OPTIMIZER[2:], 8)]


def loops(shape: Shape, accumulation: int) -> list[Loop]:
    """The repetitions of an iteration, those inside the accumulated batch as they lie in the first batch."""
    first = len(INPUT) + len(EMBEDDING)
    second = first + shape.layers * len(shape.forward) + len(LOSS)
    size = second + shape.layers * len(shape.backward)
    end = size * accumulation
    outer = [Loop(0, size, accumulation)] if accumulation > 1 else []
    layers = [Loop(first, len(shape.forward), shape.layers), Loop(second, len(shape.backward), shape.layers)]
    return [*outer, *layers, Loop(end, 1, 16), Loop(end + 16, 1, 16), Loop(end + 32, 2, 8)]


def evaluation(shape: Shape, batches: int) -> Ints:
    """An evaluation: forward passes only."""
    one = np.concatenate([INPUT, EMBEDDING, np.tile(shape.forward, shape.layers), EVALUATE])
    return shape.symbols(np.tile(one, batches))


def checkpoint(layers: int) -> Ints:
    """A checkpoint: copies to the host for every layer."""
    return np.tile(CHECKPOINT, layers)


def tuning() -> Ints:
    """What an autotuner tries in the first iterations: each candidate ten times."""
    return np.repeat(TUNING, 10)


def prefill(shape: Shape) -> Ints:
    """The first step of a request, which reads the prompt."""
    return shape.symbols(np.r_[INPUT, np.tile(PREFILL, shape.layers), SAMPLE])


def decode(layers: int) -> Ints:
    """A step that makes one token."""
    return np.r_[np.tile(DECODE, layers), SAMPLE]
