"""FLOPs and bytes of framework operators, from what a trace records of a call: one formula for each kind of operator.

A multiply-add is 2 FLOPs; the formulas are listed in docs/flops.md. Bytes are those of the operands, each read or
written once. What a trace does not say is not guessed: the number is None, and the reason is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from .operators import (
    attention,
    collective,
    convolution,
    elementwise,
    gemm,
    generated,
    movement,
    normalization,
    optimizer,
    pooling,
    reduction,
)
from .operators.call import SIZES, Call, Missing, Tensor
from .operators.kind import Count, Kind

__all__ = ["FAMILIES", "LARGEST", "MATRIX", "OTHER", "Work", "kind_of", "work"]

FAMILIES: Mapping[str, Sequence[Kind]] = {
    "gemm": gemm.KINDS,
    "convolution": convolution.KINDS,
    "attention": attention.KINDS,
    "normalization": normalization.KINDS,
    "softmax": reduction.SOFTMAX,
    "elementwise": elementwise.KINDS,
    "reduction": reduction.KINDS,
    "pooling": pooling.KINDS,
    "embedding": movement.EMBEDDING,
    "optimizer": optimizer.KINDS,
    "copy": movement.KINDS,
    "random": movement.RANDOM,
    "collective": collective.KINDS,
    "generated": generated.KINDS,
}
"""The kinds of operators by family."""

MATRIX = ("gemm", "convolution", "attention")
"""Families whose arithmetic matrix units do; that of the others is done by vector units, in 32 bits or in 64."""

OTHER = "other"
"""The family and kind of operators without a formula."""

LARGEST = 2**60
"""More FLOPs or bytes than this no single operator has: an hour of the fastest device there is. Sums of rows fit."""


@dataclass(frozen=True)
class Work:
    """What a call comes to. `flops` and `bytes` are None where `missing` and `bytes_missing` say why.

    `type` is that of the arithmetic, `result` the tensor that was written, where there is one alone.
    """

    family: str
    kind: str
    type: str | None = None
    flops: int | None = None
    missing: str | None = None
    bytes: int | None = None
    bytes_missing: str | None = None
    result: Tensor | None = None
    detail: str | None = None


def kind_of(name: str) -> tuple[str, Kind | None]:
    """The family and kind of an operator by its name; those of its in-place form, whose name ends in `_`, too."""
    known = _by_name()
    found = known.get(name) or known.get(name.removesuffix("_"))
    if found is None and name.startswith(generated.PREFIX):
        found = known[generated.PREFIX]
    return found or (OTHER, None)


def work(name: str, call: Call | None) -> Work:
    """The FLOPs and bytes of a call; `call` is None where its shapes are not recorded. Never raises for any call."""
    family, kind = kind_of(name)
    if kind is None:
        return Work(OTHER, OTHER, missing="no formula", bytes_missing="no formula")
    if call is None:
        return Work(family, kind.name, missing="shapes not recorded", bytes_missing="shapes not recorded")
    try:
        count = kind.count(call)
    except Missing as missing:
        return Work(family, kind.name, missing=str(missing), bytes_missing=str(missing))
    moved, bytes_missing = _moved(count)
    flops, missing = count.flops, count.why or None
    if flops and count.type and count.type.startswith("complex"):
        flops, missing = None, "no formula for complex numbers"
    if flops is not None and not 0 <= flops <= LARGEST:
        flops, missing = None, "more than any operator does"
    if moved is not None and not 0 <= moved <= LARGEST:
        moved, bytes_missing = None, "more than any operator moves"
    result = count.writes[0] if count.writes and len(count.writes) == 1 else None
    return Work(family, kind.name, count.type, flops, missing, moved, bytes_missing, result, count.detail or None)


@cache
def _by_name() -> Mapping[str, tuple[str, Kind]]:
    return {name: (family, kind) for family, kinds in FAMILIES.items() for kind in kinds for name in kind.operators}


def _moved(count: Count) -> tuple[int | None, str | None]:
    """The bytes of all operands; or None, and why."""
    if count.writes is None:
        return None, count.why or "shape of the result not known"
    tensors = (*count.reads, *count.writes)
    if any(one.type is None for one in tensors):
        return None, "types not recorded"
    return sum(one.stored * SIZES[one.type] for one in tensors if one.type), None
