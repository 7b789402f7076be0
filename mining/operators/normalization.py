"""Normalisation, counted by its arithmetic: each sum, product and difference of an element, not those of a row.

With the mean m and the deviation of a group: x enters the sum (1), x - m (1), its square is summed (2), and it is
scaled (1): 5; weight and bias add 1 each. Without a mean (RMS) it is 3. The gradient of the input takes the normal form
of x (2), the gradient times weight (1), two sums of it (1 and 2) and their combination (4): 10; that of the weight 2,
that of the bias 1. Statistics of rows are in neither FLOPs nor bytes.
"""

from collections.abc import Callable, Sequence

from .call import Call, Missing, Tensor
from .kind import NOTHING, PART, Count, Kind

__all__ = ["KINDS"]

TRAINING = "whether it is training"


def _made(flops: int, reads: Sequence[Tensor | None], one: Tensor, *more: Tensor) -> Count:
    written = [one.like(*one.shape), *(tensor.like(*tensor.shape) for tensor in more)]
    return Count(flops, [tensor for tensor in reads if tensor], written, one.type)


def _forward(each: int, weight: int, bias: int | None) -> Callable[[Call], Count]:
    """Of (input, ...) with those positions of weight and bias: so many FLOPs an element, and 1 for each of these."""

    def count(call: Call) -> Count:
        one, scale = call.tensor(0), call.maybe(weight)
        shift = call.maybe(bias) if bias is not None else None
        return _made(one.elements * (each + bool(scale) + bool(shift)), [one, scale, shift], one)

    return count


def _batch(call: Call) -> Count:
    """Of (input, weight, bias, mean, variance, training, ...); in evaluation two operations, and the affine ones."""
    one, weight, bias = call.tensor(0), call.maybe(1), call.maybe(2)
    training = call.flag(5, TRAINING)
    each = (5 if training else 2) + bool(weight) + bool(bias)
    kept = [None, None] if training else [call.maybe(3), call.maybe(4)]
    return _made(one.elements * each, [one, weight, bias, *kept], one)


def _gradient(call: Call, gradient: int, input: int, weight: Tensor | None, made: tuple[bool, bool, bool]) -> Count:
    """The gradients asked for: of the input 10 an element (9 without a weight), of the weight 2, of the bias 1."""
    one, two = call.tensor(gradient), call.tensor(input)
    each = (9 + bool(weight)) * made[0] + 2 * made[1] + made[2]
    written = [*([two] * made[0]), *([weight] * (made[1] + made[2]) if weight else [])]
    flops = two.elements * each
    return Count(
        flops, [one, two, *([weight] if weight else [])], [tensor.like(*tensor.shape) for tensor in written], two.type
    )


def _layer_backward(call: Call) -> Count:
    """Of (gradient, input, shape, mean, deviation, weight, bias, which)."""
    return _gradient(call, 0, 1, call.maybe(5), _which(call, 7))


def _group_backward(call: Call) -> Count:
    """Of (gradient, input, mean, deviation, weight, N, C, HxW, groups, which)."""
    return _gradient(call, 0, 1, call.maybe(4), _which(call, 9))


def _batch_backward(call: Call) -> Count:
    """Of (gradient, input, weight, means, variances, saved, saved, training, eps, which)."""
    if not call.flag(7, TRAINING):
        raise Missing("no formula for the gradient in evaluation")
    return _gradient(call, 0, 1, call.maybe(2), _which(call, 9))


def _library_backward(call: Call) -> Count:
    """Of cuDNN and MIOpen (input, gradient, weight, ...): all three gradients, and in training alone."""
    return _gradient(call, 1, 0, call.tensor(2), (True, True, True))


def _rms_backward(call: Call) -> Count:
    """Of (gradient, input, shape, deviation, weight, which): 7 an element (6 without a weight), of the weight 2."""
    one, two, weight = call.tensor(0), call.tensor(1), call.maybe(4)
    first, second = call.flags(5, 2, "which gradients are computed")
    each = (6 + bool(weight)) * first + 2 * second
    written = [*([two] * first), *([weight] * second if weight else [])]
    reads = [one, two, *([weight] if weight else [])]
    return Count(two.elements * each, reads, [tensor.like(*tensor.shape) for tensor in written], two.type)


def _which(call: Call, at: int) -> tuple[bool, bool, bool]:
    first, second, third = call.flags(at, 3, "which gradients are computed")
    return first, second, third


def _rms_into(call: Call) -> Count:
    """Of inference engines (result, input, weight, eps)."""
    one, weight = call.tensor(1), call.tensor(2, 1)
    return _made(4 * one.elements, [one, weight], one)


def _rms_added(call: Call) -> Count:
    """Of (input, residual, weight, eps), both of which are written: the sum is 1 more."""
    one, residual, weight = call.tensor(0), call.tensor(1), call.tensor(2, 1)
    return _made(5 * one.elements, [one, residual, weight], one, residual)


def _rms_added_into(call: Call) -> Count:
    """Of (result, input, residual, sum, weight, eps)."""
    one, residual, weight = call.tensor(1), call.tensor(2), call.tensor(4, 1)
    return _made(5 * one.elements, [one, residual, weight], one, residual)


GRADIENT = "n·(10 for the input, 2 for the weight, 1 for the bias), of those computed; 9 without a weight"

KINDS = (
    Kind("layer_norm", ("aten::native_layer_norm",), "n·(5 + weight + bias)", _forward(5, 2, 3), PART),
    Kind("layer_norm_backward", ("aten::native_layer_norm_backward",), GRADIENT, _layer_backward),
    Kind("group_norm", ("aten::native_group_norm",), "n·(5 + weight + bias)", _forward(5, 1, 2), PART),
    Kind("group_norm_run", ("aiter::_groupnorm_run",), "n·(5 + weight + bias)", _forward(5, 2, 3), PART),
    Kind("group_norm_backward", ("aten::native_group_norm_backward",), GRADIENT, _group_backward),
    Kind("rms_norm", ("aten::_fused_rms_norm",), "n·(3 + weight)", _forward(3, 2, None), PART),
    Kind(
        "rms_norm_backward",
        ("aten::_fused_rms_norm_backward",),
        "n·(7 for the input, 2 for the weight), of those computed; 6 without a weight",
        _rms_backward,
    ),
    Kind("rms_norm_into", ("_C::rms_norm", "aiter::rmsnorm", "sgl_kernel::rmsnorm"), "4·n", _rms_into, NOTHING),
    Kind("add_rms_norm", ("_C::fused_add_rms_norm", "sgl_kernel::fused_add_rmsnorm"), "5·n", _rms_added, NOTHING),
    Kind("add_rms_norm_into", ("aiter::add_rmsnorm",), "5·n", _rms_added_into, NOTHING),
    Kind(
        "batch_norm",
        (
            "aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm", "aten::batch_norm",
            "aten::_native_batch_norm_legit",
        ),
        "n·(5 in training, 2 in evaluation, + weight + bias)",
        _batch,
        PART,
    ),
    Kind("batch_norm_backward", ("aten::native_batch_norm_backward",), f"in training {GRADIENT}", _batch_backward),
    Kind(
        "library_batch_norm_backward",
        ("aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"),
        "13·n",
        _library_backward,
    ),
)  # fmt: skip
