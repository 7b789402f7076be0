"""What a call of an operator makes beside its operands, by the formula of its kind: its bytes, and how they are known.

Profilers record inputs alone, and so do the hooks: what is not known by a formula is not known.
"""

from dataclasses import dataclass

from .operator_work import LARGEST, kind_of
from .operators.call import SIZES, Call, Missing, Tensor
from .operators.elementwise import floating
from .operators.kind import NOTHING, PART, TYPED, Count

__all__ = ["FORMULA", "LACKING", "OPERANDS", "UNKNOWN", "Outputs", "outputs"]

OPERANDS, FORMULA, LACKING, UNKNOWN = "operands", "formula", "part", "unknown"

ARITHMETIC = ("gemm", "elementwise", "reduction")
KEPT = ("select", "logic", "truth_comparison", "extreme", "argmax")
"""Kinds whose formula tells the type of the result on whole numbers too: others widen, or come to fractions."""
WITH_INTO = ("gemm", "softmax", "reduction")
"""Families whose formulas leave a last tensor aside that is written into; that of elements knows it itself."""


@dataclass(frozen=True)
class Outputs:
    """Bytes of the tensors that a call makes, those not counted that it writes into and was given.

    `told`: `operands` (it writes into those alone), `formula`, `part` (there are others beside them, such as
    statistics of rows), or `unknown`, where the bytes are 0.
    """

    bytes: int
    told: str


NOT_KNOWN = Outputs(0, UNKNOWN)


def outputs(name: str, call: Call | None) -> Outputs:
    """What that call makes; `call` is None where its shapes are not recorded. Never raises for any call."""
    if call is None:
        return NOT_KNOWN
    family, kind = kind_of(name)
    if _in_place(name) and (kind is not None or name.startswith("aten::")):
        return Outputs(0, OPERANDS)
    if kind is None or (kind.makes == TYPED and not call.values):
        return NOT_KNOWN
    if kind.makes == NOTHING:
        return Outputs(0, OPERANDS)
    try:
        count = kind.count(call)
    except Missing:
        return NOT_KNOWN
    whole = family in ARITHMETIC and not floating(count.type) and kind.name not in KEPT
    if count.writes is None or whole:
        return NOT_KNOWN
    made = [one for one in count.writes if not _is_given(one, call, count, family)]
    sizes = [one.elements * SIZES[one.type] for one in made if one.type is not None]
    if len(sizes) < len(made) or not 0 <= sum(sizes) <= LARGEST:
        return NOT_KNOWN
    return Outputs(sum(sizes), LACKING if kind.makes == PART else FORMULA if made else OPERANDS)


def _in_place(name: str) -> bool:
    """By PyTorch's convention; names with two underscores are Python's own."""
    return name.endswith("_") and not name.endswith("__")


def _is_given(one: Tensor, call: Call, count: Count, family: str) -> bool:
    """Whether it is one of the operands, or stands behind those that are read (`out=`)."""
    if any(one is operand for operand in call.all()):
        return True
    last = call.operands[-1]
    if family not in WITH_INTO or not isinstance(last, Tensor) or any(last is read for read in count.reads):
        return False
    return (last.shape, last.type) == (one.shape, one.type)
