"""Operators on elements: so many FLOPs for each element of the result; a transcendental function counts 1.

Exponentials, logarithms, roots, sines, sigmoid, tanh, erf and the normal distribution count 1, as do a comparison, a
maximum and a sign. A scale such as `alpha` is not counted. On whole numbers and truth values there are no FLOPs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from .call import SIZES, Call, Missing, Tensor
from .gemm import broadcast
from .kind import Count, Kind

__all__ = ["KINDS", "floating"]

FLOATING = ("fp64", "fp32", "fp16", "bf16", "fp8", "complex32", "complex64", "complex128")

SAME = (
    (1, "arithmetic", "add sub rsub mul div floor_divide neg abs reciprocal square remainder fmod sign sgn"),
    (1, "function", "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt pow sin cos tan tanh atan2 erf erfc sigmoid"),
    (1, "comparison", "clamp clamp_min clamp_max relu threshold hardtanh maximum minimum fmax fmin nan_to_num floor "
     "ceil round trunc"),
    (0, "select", "where masked_fill logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not "
     "bitwise_xor isnan isinf isfinite"),
    (1, "threshold", "leaky_relu leaky_relu_backward threshold_backward hardtanh_backward relu6"),
    (2, "activation", "gelu silu"),
    (3, "softplus", "softplus elu logit"),
    (3, "multiply_add", "addcmul addcdiv lerp"),
    (3, "activation_gradient", "sigmoid_backward tanh_backward mse_loss_backward logit_backward"),
    (5, "gelu_backward", "gelu_backward"),
    (6, "silu_backward", "silu_backward"),
)  # fmt: skip
"""FLOPs of an element, kind, and operators of `aten::` that have so many."""
COMPARISONS = "eq ne lt le gt ge"
TWO = (
    "add sub rsub mul div floor_divide remainder fmod pow atan2 clamp_min clamp_max maximum minimum fmax fmin "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor leaky_relu_backward threshold_backward "
    "hardtanh_backward sigmoid_backward tanh_backward logit_backward mse_loss gelu_backward silu_backward "
    f"{COMPARISONS}"
)
THREE = "where masked_fill addcmul addcdiv lerp clamp mse_loss_backward"
TAKES: Mapping[str, int] = {name: most for most, names in ((2, TWO), (3, THREE)) for name in names.split()}
"""The most tensors that an operator takes, where that is not one: another is what it writes into (`out=`)."""
BOOLEAN = ("logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isinf", "isfinite")
COMMENTS: Mapping[str, str] = {
    "arithmetic": "one operation",
    "function": "a transcendental function, or a root",
    "comparison": "a comparison or a rounding",
    "select": "no arithmetic",
    "threshold": "one operation",
    "activation": "x·Φ(x), x·σ(x): a function and a product",
    "softplus": "log(1 + exp(x)), a·(exp(x) - 1), log(x / (1 - x))",
    "multiply_add": "a + s·b·c, a + w·(b - a)",
    "activation_gradient": "g·y·(1 - y), g·(1 - y²), g·s·(a - b)",
    "gelu_backward": "g·(Φ(x) + x·φ(x))",
    "silu_backward": "g·σ·(1 + x·(1 - σ))",
}


def floating(type: str | None) -> bool:
    """Whether arithmetic of that type is counted: of one not recorded it is, by its shape."""
    return type is None or type in FLOATING


def result_type(tensors: Sequence[Tensor]) -> str | None:
    """The type that tensors come to together: numbers with a shape before those without, floating before whole ones.

    None where one of them is not recorded.
    """
    if any(one.type is None for one in tensors):
        return None
    shaped = [one.type for one in tensors if one.shape] or [one.type for one in tensors]
    some: list[str] = [one for one in shaped if one in FLOATING] or [one for one in shaped if one]
    return max(some, key=lambda one: (SIZES[one], one), default=None)


def _each(call: Call, flops: int, type: str | None = None) -> Count:
    """So many FLOPs for each element of what the operands expand to; `type` of the result where it is another."""
    tensors = [one for one in call.operands if isinstance(one, Tensor)]
    if not tensors:
        raise Missing("no shape of an operand")
    most = TAKES.get(call.name.removeprefix("aten::").removesuffix("_"), 1)
    into, tensors = tensors[most:], tensors[:most]
    shape, kind = broadcast(*(one.shape for one in tensors)), result_type(tensors)
    result = into[0] if into else tensors[0].like(*shape, type=type or kind)
    counted = flops if floating(kind) else 0
    detail = "" if floating(kind) else "whole numbers"
    return Count(counted * result.elements, tensors, [result], kind, detail=detail)


def _compare(call: Call) -> Count:
    return _each(call, 1, "bool")


def _lists(call: Call, flops: int) -> Count:
    """Of `_foreach_*`: each tensor of the first list is read with what lies beside it, and written."""
    some = call.tensors(0)
    lists = [one for one in call.operands if isinstance(one, tuple)]
    elements = sum(one.elements for one in some)
    written = [one.like(*one.shape) for one in some]
    return Count(flops * elements, [one for several in lists for one in several], written, some[0].type)


def _halves(call: Call) -> Count:
    """Of (result, input): the input holds two halves, one goes through a function and is the other's factor."""
    result, one = call.tensor(0), call.tensor(1)
    if one.elements != 2 * result.elements:
        raise Missing("the shapes do not fit together")
    return Count(3 * result.elements, [one], [result], one.type)


def _loss(call: Call) -> Count:
    """Of (input, target, reduction): difference, square and sum of each element; 1 and 2 are mean and sum."""
    found, reduction = _each(call, 3), call.value(2)
    whole = found.reads[0].like(type=found.type)
    written = found.writes if reduction == 0 else [whole] if reduction in (1, 2) else None
    return Count(found.flops, found.reads, written, found.type)


def _named(names: str, pattern: str = "aten::{}") -> tuple[str, ...]:
    return tuple(pattern.format(name) for name in names.split())


def _kinds(flops: int, kind: str, names: str) -> Sequence[Kind]:
    count: Callable[[Call], Count] = partial(_each, flops=flops)
    truth: Callable[[Call], Count] = partial(_each, flops=flops, type="bool")
    plain, boolean = ([name for name in names.split() if (name in BOOLEAN) is told] for told in (False, True))
    told = f"{flops}·n: {COMMENTS[kind]}"
    found = [Kind(kind, _named(" ".join(plain)), told, count)]
    return [*found, Kind("logic", _named(" ".join(boolean)), "0: no arithmetic", truth)] if boolean else found


FOREACH = (
    (1, "add sub mul div neg abs sqrt rsqrt exp log reciprocal pow maximum minimum clamp_min clamp_max sign"),
    (3, "addcmul addcdiv lerp"),
    (0, "copy zero"),
)

KINDS = (
    *(one for flops, kind, names in SAME for one in _kinds(flops, kind, names)),
    Kind("truth_comparison", _named(COMPARISONS), "1·n", _compare),
    *(
        Kind(
            f"foreach_{flops}",
            _named(names, "aten::_foreach_{}"),
            f"{flops} for each element of the lists",
            partial(_lists, flops=flops),
        )
        for flops, names in FOREACH
    ),
    Kind(
        "unscale",
        ("aten::_amp_foreach_non_finite_check_and_unscale",),
        "1 for each element of the list",
        partial(_lists, flops=1),
    ),
    Kind(
        "gated_activation",
        ("sgl_kernel::silu_and_mul", "sgl_kernel::gelu_and_mul", "_C::silu_and_mul", "_C::gelu_and_mul"),
        "3·n: a function and two products",
        _halves,
    ),
    Kind("mse_loss", ("aten::mse_loss",), "3·n: difference, square, sum", _loss),
)
