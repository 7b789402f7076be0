"""Convolutions: 2 FLOPs for each multiply-add, each gradient as many as the forward pass; a bias is not counted.

The count is that of `torch.utils.flop_counter`: batch · outputs in space · elements of the weight · 2, where the weight
[out, in / groups, kernel] already holds the groups; transposed, inputs in space take the place of outputs. Padding is
counted as data, as there. What the trace does not say of stride, padding and dilation is not guessed.
"""

from collections.abc import Callable
from math import prod
from operator import floordiv

from .call import Call, Missing, Tensor
from .kind import Count, Kind

__all__ = ["KINDS"]

FORWARD, TRANSPOSED = (
    "2·N·(outputs in space)·(elements of the weight)",
    "2·N·(inputs in space)·(elements of the weight)",
)


def _forward(call: Call, stride: int, padding: int, dilation: int | None) -> Count:
    """A convolution with those positions of its arguments; one without dilation has no position of it."""
    one, weight = _pair(call)
    kernel = weight.shape[2:]
    steps = _spread(call.numbers(stride, "stride"), len(kernel))
    gaps = _spread((1,) if dilation is None else call.numbers(dilation, "dilation"), len(kernel))
    if min(steps + gaps) < 1:
        raise Missing("stride or dilation is none")
    same = call.value(padding)
    if same == "same":
        space = tuple(-(-size // step) for size, step in zip(one.shape[2:], steps, strict=True))
    else:
        margins = _spread((0,) if same == "valid" else call.numbers(padding, "padding"), len(kernel))
        sizes = zip(one.shape[2:], margins, gaps, kernel, steps, strict=True)
        space = tuple(floordiv(n + 2 * pad - gap * (k - 1) - 1, step) + 1 for n, pad, gap, k, step in sizes)
    if min(space) < 0:
        raise Missing("the kernel is larger than its input")
    result = one.like(one.shape[0], weight.shape[0], *space)
    return Count(2 * one.shape[0] * prod(space) * weight.elements, call.all(), [result], one.type)


def _transposed(call: Call) -> Count:
    one, weight = _pair(call)
    return Count(2 * one.shape[0] * prod(one.shape[2:]) * weight.elements, call.all(), None, one.type)


def _pair(call: Call) -> tuple[Tensor, Tensor]:
    one, weight = call.tensor(0), call.tensor(1)
    if len(one.shape) != len(weight.shape) or len(one.shape) < 3:
        raise Missing("input and weight are of other dimensions")
    return one, weight


def _spread(numbers: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """One number for each dimension in space; one stands for all."""
    found = numbers * rank if len(numbers) == 1 else numbers
    if len(found) != rank:
        raise Missing("stride, padding or dilation is of another dimension")
    return found


def _convolution(call: Call) -> Count:
    """Of `aten::convolution`: (input, weight, bias, stride, padding, dilation, transposed, ...)."""
    return _transposed(call) if call.flag(6, "whether it is transposed") else _forward(call, 3, 4, 5)


def _at(stride: int, padding: int, dilation: int | None) -> Callable[[Call], Count]:
    return lambda call: _forward(call, stride, padding, dilation)


def _library(call: Call) -> Count:
    """Of cuDNN, MIOpen and oneDNN: (input, weight, [bias,] padding, stride, dilation, ...); one of cuDNN has no bias.

    Where the plain arguments are not recorded neither are their positions needed: they are missing.
    """
    first = 2 if isinstance(call.value(2), tuple) else 3
    return _forward(call, first + 1, first, first + 2)


def _backward(call: Call) -> Count:
    """Of `aten::convolution_backward`: (gradient, input, weight, ..., transposed at 7, ..., which gradients at 10)."""
    gradient, one, weight = (call.tensor(at) for at in range(3))
    if not len(gradient.shape) == len(one.shape) == len(weight.shape) > 2:
        raise Missing("gradient, input and weight are of other dimensions")
    inner = one if call.flag(7, "whether it is transposed") else gradient
    wanted = call.flags(10, 3, "which gradients are computed")
    each = 2 * one.shape[0] * prod(inner.shape[2:]) * weight.elements
    bias = gradient.like(gradient.shape[1])
    written = [tensor for tensor, made in zip((one, weight, bias), wanted, strict=True) if made]
    reads = [gradient, *([weight] * wanted[0]), *([one] * wanted[1])]
    return Count(each * (wanted[0] + wanted[1]), reads, [_dense_like(tensor) for tensor in written], gradient.type)


def _input_gradient(call: Call) -> Count:
    """Of cuDNN and MIOpen: (size of the input, gradient, weight, ...)."""
    gradient, weight = call.tensor(1), call.tensor(2)
    flops = 2 * prod((gradient.shape[:1] + gradient.shape[2:]) or (0,)) * weight.elements
    size = _sizes(call.value(0)) or _of_parent(call, 0)
    return Count(flops, [gradient, weight], [gradient.like(*size)] if size else None, gradient.type)


def _weight_gradient(call: Call) -> Count:
    """Of cuDNN and MIOpen: (size of the weight, gradient, input, ...); the operator around it has the weight too."""
    gradient, one = call.tensor(1), call.tensor(2)
    size = _sizes(call.value(0)) or _of_parent(call, 2)
    if not size:
        raise Missing("size of the weight not recorded")
    flops = 2 * prod((gradient.shape[:1] + gradient.shape[2:]) or (0,)) * prod(size)
    return Count(flops, [gradient, one], [gradient.like(*size)], gradient.type)


def _sizes(value: object) -> tuple[int, ...]:
    if isinstance(value, tuple) and all(isinstance(one, int) and 0 <= one < 2**48 for one in value):  # pyright: ignore[reportUnknownVariableType] - checked
        return value  # pyright: ignore[reportUnknownVariableType] - checked
    return ()


def _of_parent(call: Call, at: int) -> tuple[int, ...]:
    """The shape of an operand of `cudnn_convolution_backward(input, gradient, weight)`, where that is around it."""
    parent = call.parent
    if parent is None or not parent.name.endswith("_convolution_backward"):
        return ()
    tensor = parent.maybe(at)
    return tensor.shape if tensor else ()


def _dense_like(tensor: Tensor) -> Tensor:
    return tensor.like(*tensor.shape)


KINDS = (
    Kind(
        "convolution",
        ("aten::convolution", "aten::_convolution", "aten::convolution_overrideable"),
        f"{FORWARD}; transposed: {TRANSPOSED}",
        _convolution,
    ),
    Kind("convNd", ("aten::conv1d", "aten::conv2d", "aten::conv3d"), FORWARD, _at(3, 4, 5)),
    Kind(
        "library_convolution",
        (
            "aten::cudnn_convolution", "aten::miopen_convolution", "aten::mkldnn_convolution",
            "aten::miopen_depthwise_convolution",
        ),
        FORWARD,
        _library,
    ),
    Kind(
        "convolution_relu",
        ("aten::cudnn_convolution_relu", "aten::miopen_convolution_relu"),
        f"{FORWARD}; the activation is not counted",
        _at(3, 4, 5),
    ),
    Kind(
        "convolution_add_relu",
        ("aten::cudnn_convolution_add_relu", "aten::miopen_convolution_add_relu"),
        f"{FORWARD}; sum and activation are not counted",
        _at(5, 6, 7),
    ),
    Kind(
        "slow_convolution",
        ("aten::_slow_conv2d_forward", "aten::slow_conv3d_forward", "aten::thnn_conv2d"),
        FORWARD,
        _at(4, 5, None),
    ),
    Kind(
        "depthwise_convolution",
        ("aten::_conv_depthwise2d", "aten::conv_depthwise3d", "aten::slow_conv_dilated2d", "aten::slow_conv_dilated3d"),
        FORWARD,
        _at(4, 5, 6),
    ),
    Kind(
        "transposed_convolution",
        (
            "aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d",
            "aten::cudnn_convolution_transpose", "aten::miopen_convolution_transpose", "aten::slow_conv_transpose2d",
            "aten::slow_conv_transpose3d",
        ),
        TRANSPOSED,
        _transposed,
    ),
    Kind(
        "convolution_backward",
        ("aten::convolution_backward", "aten::convolution_backward_overrideable"),
        f"as the forward pass, for the gradient of the input and for that of the weight: {FORWARD}",
        _backward,
    ),
    Kind(
        "convolution_backward_input",
        ("aten::cudnn_convolution_backward_input", "aten::miopen_convolution_backward_input"),
        "2·N·(elements of the gradient in space)·(elements of the weight)",
        _input_gradient,
    ),
    Kind(
        "convolution_backward_weight",
        ("aten::cudnn_convolution_backward_weight", "aten::miopen_convolution_backward_weight"),
        "2·N·(elements of the gradient in space)·(elements of the weight)",
        _weight_gradient,
    ),
)  # fmt: skip
