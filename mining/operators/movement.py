"""Operators that move data: copies and casts, look-ups of rows, random numbers. They have no FLOPs, only bytes."""

from collections.abc import Callable
from math import prod

from .call import Call, Missing, scalar_type
from .elementwise import floating
from .kind import PART, TYPED, WHOLE, Count, Kind

__all__ = ["EMBEDDING", "KINDS", "RANDOM"]


def _copy(call: Call) -> Count:
    """Of (target, source): the source is read, the target written, in their own types."""
    target, source = call.tensor(0), call.tensor(1)
    return Count(0, [source], [target], target.type)


def _cast(call: Call) -> Count:
    """Of (source, type as a number, ...); without a type the result has that of the source."""
    one = call.tensor(0)
    return Count(0, [one], [one.like(*one.shape, type=scalar_type(call.value(1)))], one.type)


def _same(call: Call) -> Count:
    one = call.tensor(0)
    return Count(0, [one], [one.like(*one.shape)], one.type)


def _filled(call: Call) -> Count:
    one = call.tensor(0)
    return Count(0, (), [one.like(*one.shape)], one.type)


def _joined(call: Call) -> Count:
    """Of a list: what is read is written. Types of tensors in lists are not recorded, so neither are bytes."""
    some = call.tensors(0)
    return Count(0, some, [one.like(*one.shape) for one in some], some[0].type)


def _upsampled(call: Call) -> Count:
    """Of (input, size of the result, ...)."""
    one = call.tensor(0)
    size = call.numbers(1, "size of the result")
    if len(size) + 2 != len(one.shape):
        raise Missing("the size does not fit the input")
    return Count(0, [one], [one.like(*one.shape[:2], *size)], one.type)


def _rows(call: Call) -> Count:
    """Of `embedding` (weight, indices, ...): a row is read and written for each index, however often it recurs."""
    weight, index = call.tensor(0, 2), call.tensor(1)
    result = weight.like(*index.shape, weight.shape[1])
    return Count(0, [result, index], [result], weight.type)


def _row_gradients(call: Call) -> Count:
    """Of (gradient, indices, number of rows, ...): each gradient is added to a row of a whole new weight."""
    one, index = call.tensor(0), call.tensor(1)
    (rows,) = call.numbers(2, "number of rows")[:1] or (0,)
    width = one.shape[-1] if one.shape else 1
    return Count(one.elements, [one, index], [one.like(max(rows, 0), width)], one.type)


def _selected(call: Call) -> Count:
    """Of `index_select` (input, dimension, indices)."""
    one, index = call.tensor(0), call.tensor(2)
    at = call.numbers(1, "dimension")[0]
    if not -len(one.shape) <= at < len(one.shape):
        raise Missing("the dimension does not fit the input")
    shape = [index.elements if place == at % len(one.shape) else size for place, size in enumerate(one.shape)]
    result = one.like(*shape)
    return Count(0, [result, index], [result], one.type)


def _gathered(call: Call) -> Count:
    """Of `gather` (input, dimension, indices): an element for each index."""
    one, index = call.tensor(0), call.tensor(2)
    result = one.like(*index.shape)
    return Count(0, [result, index], [result], one.type)


def _bags(call: Call) -> Count:
    """Of `_embedding_bag` (weight, indices, offsets, ...): the rows of a bag are added up."""
    weight, index, offsets = call.tensor(0, 2), call.tensor(1), call.tensor(2)
    width = weight.shape[1]
    flops = index.elements * width if floating(weight.type) else 0
    read = weight.like(index.elements, width)
    return Count(flops, [read, index, offsets], [weight.like(prod(offsets.shape), width)], weight.type)


def _dropout(call: Call) -> Count:
    """Of `native_dropout` (input, ...): a mask is written beside the result."""
    one = call.tensor(0)
    written = [one.like(*one.shape), one.like(*one.shape, type="bool")]
    return Count(2 * one.elements, [one], written, one.type)


def _named(names: str) -> tuple[str, ...]:
    return tuple(f"aten::{name}" for name in names.split())


def _kind(name: str, names: str, count: Callable[[Call], Count], formula: str = "0", makes: str = WHOLE) -> Kind:
    return Kind(name, _named(names), formula, count, makes)


EMBEDDING = (
    _kind("embedding", "embedding", _rows),
    _kind("embedding_backward", "embedding_dense_backward", _row_gradients, "1 for each element of the gradient"),
    _kind("embedding_bag", "_embedding_bag _embedding_bag_forward_only", _bags, "indices·width: sums", PART),
    _kind("index_select", "index_select", _selected),
    _kind("gather", "gather", _gathered),
)
RANDOM = (
    _kind("dropout", "native_dropout", _dropout, "2·n: mask and scale"),
    _kind("random", "normal uniform random bernoulli exponential", _filled, "0: work of the generator is not counted"),
)
KINDS = (
    _kind("copy", "copy", _copy),
    _kind("cast", "_to_copy to", _cast, makes=TYPED),
    _kind("clone", "clone contiguous transpose flip roll", _same),
    _kind("fill", "fill zero", _filled),
    _kind("cat", "cat stack _cat", _joined),
    _kind("upsample", "upsample_nearest1d upsample_nearest2d upsample_nearest3d", _upsampled),
)
