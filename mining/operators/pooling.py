"""Pooling: one comparison or sum for each element of a window."""

from math import prod

from .call import Call, Missing
from .kind import Count, Kind

__all__ = ["KINDS"]


def _windows(call: Call, dilated: bool) -> Count:
    """Of (input, window, stride, padding, [dilation,] rounding up, ...); an empty stride is that of the window."""
    one = call.tensor(0)
    window = call.numbers(1, "window")
    rank = len(window)
    stride = call.numbers(2, "stride") or window
    margin = call.numbers(3, "padding")
    gaps = call.numbers(4, "dilation") if dilated else (1,)
    up = call.flag(5 if dilated else 4, "rounding")
    steps, pads, gaps = (some * rank if len(some) == 1 else some for some in (stride, margin, gaps))
    if not 0 < rank < len(one.shape) or not len(steps) == len(pads) == len(gaps) == rank or min(steps) < 1:
        raise Missing("window, stride and padding do not fit the input")
    sizes = zip(one.shape[-rank:], window, steps, pads, gaps, strict=True)
    space = tuple(_places(n, k, step, pad, gap, up=up) for n, k, step, pad, gap in sizes)
    result = one.like(*one.shape[:-rank], *space)
    written = [result, result.like(*result.shape, type="int64")] if dilated else [result]
    return Count(result.elements * prod(window), [one], written, one.type)


def _places(size: int, window: int, step: int, pad: int, gap: int, *, up: bool) -> int:
    """Windows in a dimension, as PyTorch has it: rounded up, the last must begin within the input or its padding."""
    room = size + 2 * pad - gap * (window - 1) - 1
    found = (-(-room // step) if up else room // step) + 1
    return max(found - (up and (found - 1) * step >= size + pad), 0)


def _max(call: Call) -> Count:
    return _windows(call, dilated=True)


def _average(call: Call) -> Count:
    return _windows(call, dilated=False)


def _adaptive(call: Call) -> Count:
    """Of (input, size of the result): each element is in one window where the sizes divide."""
    one = call.tensor(0)
    size = call.numbers(1, "size of the result")
    if not size or len(size) >= len(one.shape) or not all(size) or any(map(_mod, one.shape[-len(size) :], size)):
        raise Missing("windows overlap: the sizes do not divide")
    return Count(one.elements, [one], [one.like(*one.shape[: -len(size)], *size)], one.type)


def _mod(whole: int, part: int) -> int:
    return whole % part


def _gradient(call: Call) -> Count:
    """Of (gradient, input, ..., indices): each gradient is added where the maximum was."""
    one, two = call.tensor(0), call.tensor(1)
    reads = [one, *(tensor for tensor in call.all()[2:] if tensor.type == "int64")]
    return Count(one.elements, reads, [two.like(*two.shape)], one.type)


def _spread(call: Call) -> Count:
    """Of (gradient, input): each element of the input has its share, one product."""
    one, two = call.tensor(0), call.tensor(1)
    return Count(two.elements, [one], [two.like(*two.shape)], one.type)


KINDS = (
    Kind(
        "max_pool",
        ("aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"),
        "(elements of the result)·(elements of a window)",
        _max,
    ),
    Kind(
        "average_pool",
        ("aten::avg_pool2d", "aten::avg_pool3d"),
        "(elements of the result)·(elements of a window)",
        _average,
    ),
    Kind("adaptive_pool", ("aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool3d"), "1·n", _adaptive),
    Kind(
        "max_pool_backward",
        ("aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward"),
        "1 for each element of the gradient",
        _gradient,
    ),
    Kind(
        "adaptive_pool_backward",
        ("aten::_adaptive_avg_pool2d_backward", "aten::_adaptive_avg_pool3d_backward"),
        "1 for each element of the input",
        _spread,
    ),
)
