"""Reductions and softmax: operations for each element that goes in."""

from collections.abc import Callable
from functools import partial

from .call import Call, Missing, Tensor, scalar_type
from .elementwise import floating
from .kind import PART, TYPED, Count, Kind

__all__ = ["KINDS", "SOFTMAX"]

DIMENSIONS = "which dimensions are reduced"


def _reduced(call: Call, each: int, dimensions: int, keep: int, type: str | None = None) -> Count:
    """So many FLOPs for each element of the input; the result is known where the dimensions are recorded.

    A call without operands besides the input, or with a type alone, reduces all of it.
    """
    one = call.tensor(0)
    flops = each * one.elements if floating(one.type) else 0
    detail = "" if floating(one.type) else "whole numbers"
    return Count(flops, [one], _result(call, one, dimensions, keep, type), one.type, detail=detail)


def _result(call: Call, one: Tensor, dimensions: int, keep: int, type: str | None) -> list[Tensor] | None:
    if len(call.operands) < 3 and not call.maybe(1):
        return [one.like(type=type or (scalar_type(call.value(1)) if dimensions == 1 else None))]
    try:
        told = call.numbers(dimensions, DIMENSIONS)
    except Missing:
        return None
    rank = len(one.shape)
    gone = {at % rank for at in told or range(rank)} if rank else set[int]()  # an empty list means all
    kept = call.value(keep) is True
    left = [1 if at in gone else size for at, size in enumerate(one.shape) if kept or at not in gone]
    return [one.like(*left, type=type or scalar_type(call.value(keep + 1)))]


def _running(call: Call) -> Count:
    """Sums or products of all elements before each: the result has the shape of the input."""
    one = call.tensor(0)
    written = one.like(*one.shape, type=scalar_type(call.value(2)))
    return Count(one.elements if floating(one.type) else 0, [one], [written], one.type)


def _softmax(call: Call) -> Count:
    """Of (input, dimension, whether 16 bits come to 32)."""
    one = call.tensor(0)
    written = one.like(*one.shape, type="fp32" if call.value(2) is True else None)
    return Count(5 * one.elements, [one], [written], one.type)


def _softmax_backward(call: Call) -> Count:
    """Of (gradient, result, dimension, type of the input as a number)."""
    one, two = call.tensor(0), call.tensor(1)
    written = one.like(*one.shape, type=scalar_type(call.value(3)))
    return Count(4 * one.elements, [one, two], [written], one.type)


def _by(each: int, dimensions: int, keep: int, type: str | None = None) -> Callable[[Call], Count]:
    return partial(_reduced, each=each, dimensions=dimensions, keep=keep, type=type)


SOFTMAX = (
    Kind("softmax", ("aten::_softmax",), "5·n: maximum, difference, exponential, sum, quotient", _softmax, TYPED),
    Kind(
        "log_softmax",
        ("aten::_log_softmax",),
        "5·n: maximum, difference, exponential, sum, difference",
        _softmax,
        TYPED,
    ),
    Kind(
        "softmax_backward",
        ("aten::_softmax_backward_data",),
        "4·n: product, sum, difference, product",
        _softmax_backward,
        TYPED,
    ),
    Kind(
        "log_softmax_backward",
        ("aten::_log_softmax_backward_data",),
        "4·n: sum, exponential, product, difference",
        _softmax_backward,
        TYPED,
    ),
)
KINDS = (
    Kind("sum", ("aten::sum", "aten::nansum"), "1·n", _by(1, 1, 2), TYPED),
    Kind("mean", ("aten::mean",), "1·n", _by(1, 1, 2), TYPED),
    Kind("extreme", ("aten::amax", "aten::amin"), "1·n: a comparison", _by(1, 1, 2)),
    Kind("extreme", ("aten::max", "aten::min"), "1·n: a comparison", _by(1, 1, 2), PART),  # of a dimension: places, too
    Kind("argmax", ("aten::argmax", "aten::argmin"), "1·n: a comparison", _by(1, 1, 2, "int64")),
    Kind("norm", ("aten::linalg_vector_norm", "aten::norm"), "2·n: square and sum", _by(2, 2, 3), TYPED),
    Kind("variance", ("aten::var", "aten::std"), "4·n: sum, difference, square and sum", _by(4, 1, 3)),
    Kind("cumulative", ("aten::cumsum", "aten::cumprod"), "1·n", _running, TYPED),
)
