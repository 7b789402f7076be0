"""A kind of operator: its names, its formula, and what a call of it comes to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .call import Call, Tensor

__all__ = ["Count", "Kind"]


@dataclass(frozen=True)
class Count:
    """What a call computes and moves.

    `flops` is None where no formula gives it, and `why` says so. `reads` and `writes` are the operands, each once;
    `writes` is None where the shape of the result is not known. `type` is that of the arithmetic.
    """

    flops: int | None
    reads: Sequence[Tensor]
    writes: Sequence[Tensor] | None
    type: str | None
    why: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Kind:
    """Operators that one formula counts. A name stands for its in-place form, with `_` at its end, too."""

    name: str
    operators: tuple[str, ...]
    formula: str
    count: Callable[[Call], Count]
