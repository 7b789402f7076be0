"""A kind of operator: its names, its formula, and what a call of it comes to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .call import Call, Tensor

__all__ = ["NOTHING", "PART", "TYPED", "WHOLE", "Count", "Kind"]

WHOLE, TYPED, PART, NOTHING = "whole", "typed", "part", "nothing"


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
    """Operators that one formula counts. A name stands for its in-place form, with `_` at its end, too.

    `makes` says how much of what they make is in `Count.writes`: the whole; the whole, of a type that only the plain
    arguments tell; a part, without statistics of rows or the like; nothing, since they write into their operands.
    """

    name: str
    operators: tuple[str, ...]
    formula: str
    count: Callable[[Call], Count]
    makes: str = WHOLE
