"""Matrix products: 2 FLOPs for each multiply-add, as `torch.utils.flop_counter` has it; a bias is not counted."""

from math import prod

from .call import Call, Missing, Tensor, scalar_type
from .kind import Count, Kind

__all__ = ["KINDS", "broadcast"]


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that tensors of these shapes are expanded to together; `Missing` where they do not fit.

    >>> broadcast((4, 1), (3,))
    (4, 3)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    sizes: list[int] = []
    for some in zip(*padded, strict=True):
        told = {size for size in some if size != 1}
        if len(told) > 1:
            raise Missing("the shapes do not fit together")
        sizes.append(told.pop() if told else 1)
    return tuple(sizes)


def product(one: Tensor, two: Tensor, *more: Tensor | None) -> Count:
    """The product of matrices in the last two dimensions, those before expanded to each other; a vector is one row."""
    left = one.shape if len(one.shape) > 1 else (1, *one.shape)
    right = two.shape if len(two.shape) > 1 else (*two.shape, 1)
    if not one.shape or not two.shape or left[-1] != right[-2]:
        raise Missing("the shapes do not fit together")
    batch = broadcast(left[:-2], right[:-2])
    rows, inner, columns = left[-2], left[-1], right[-1]
    reads = [one, two, *(tensor for tensor in more if tensor)]
    return Count(2 * prod(batch) * rows * columns * inner, reads, [one.like(*batch, rows, columns)], one.type)


def _mm(call: Call) -> Count:
    return product(call.tensor(0, 2), call.tensor(1, 2))


def _addmm(call: Call) -> Count:
    return product(call.tensor(1, 2), call.tensor(2, 2), call.maybe(0))


def _bmm(call: Call) -> Count:
    return product(call.tensor(0, 3), call.tensor(1, 3))


def _baddbmm(call: Call) -> Count:
    return product(call.tensor(1, 3), call.tensor(2, 3), call.maybe(0))


def _addbmm(call: Call) -> Count:
    found = product(call.tensor(1, 3), call.tensor(2, 3), call.maybe(0))
    one, two = call.tensor(1), call.tensor(2)
    return Count(found.flops, found.reads, [one.like(one.shape[1], two.shape[2])], one.type)


def _matmul(call: Call) -> Count:
    return product(call.tensor(0), call.tensor(1))


def _linear(call: Call) -> Count:
    one, weight = call.tensor(0), call.tensor(1, 2)
    turned = Tensor((weight.shape[1], weight.shape[0]), weight.type, weight.stored)
    return product(one, turned, call.maybe(2))


def _mv(call: Call) -> Count:
    return product(call.tensor(0, 2), call.tensor(1, 1))


def _addmv(call: Call) -> Count:
    return product(call.tensor(1, 2), call.tensor(2, 1), call.maybe(0))


def _dot(call: Call) -> Count:
    return product(call.tensor(0, 1), call.tensor(1, 1))


def _scaled(call: Call) -> Count:
    """The type of the result is the seventh argument, as its number among PyTorch's types."""
    found = product(call.tensor(0, 2), call.tensor(1, 2))
    type, one, two = scalar_type(call.value(6)), call.tensor(0), call.tensor(1)
    written = [one.like(one.shape[0], two.shape[1], type=type)] if type else None
    return Count(found.flops, call.all(), written, found.type)


def _grouped(call: Call) -> Count:
    """Rows of the first, each times the matrix of its group: how many rows a group has makes no difference.

    Products of 8 bits come to more, and to which type is not recorded.
    """
    rows, matrices = call.tensor(0, 2), call.tensor(1, 3)
    if rows.shape[1] != matrices.shape[1]:
        raise Missing("the shapes do not fit together")
    flops = 2 * rows.elements * matrices.shape[2]
    written = None if rows.type == "fp8" else [rows.like(rows.shape[0], matrices.shape[2])]
    return Count(flops, [rows, matrices], written, rows.type)


def _einsum(call: Call) -> Count:
    """Two operands with the equation recorded, without `...`: 2 FLOPs for each combination of all indices."""
    equation, some = call.value(0), call.tensors(1)
    if not isinstance(equation, str) or "->" not in equation or "." in equation or len(some) != 2:
        raise Missing("no equation of two operands recorded")
    left, result = equation.replace(" ", "").split("->", 1)
    terms = left.split(",")
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms, some, strict=False):
        if len(terms) != 2 or len(term) != len(tensor.shape):
            raise Missing("the equation does not fit the shapes")
        for index, size in zip(term, tensor.shape, strict=True):
            if sizes.setdefault(index, size) != size:
                raise Missing("the equation does not fit the shapes")
    if not set(result) <= set(sizes):
        raise Missing("the equation does not fit the shapes")
    written = some[0].like(*(sizes[index] for index in result))
    return Count(2 * prod(sizes.values()), some, [written], some[0].type)


KINDS = (
    Kind("mm", ("aten::mm", "aten::_int_mm"), "2·M·N·K", _mm),
    Kind("addmm", ("aten::addmm", "aten::_addmm_activation"), "2·M·N·K", _addmm),
    Kind("bmm", ("aten::bmm",), "2·B·M·N·K", _bmm),
    Kind("baddbmm", ("aten::baddbmm",), "2·B·M·N·K", _baddbmm),
    Kind("addbmm", ("aten::addbmm",), "2·B·M·N·K", _addbmm),
    Kind("matmul", ("aten::matmul", "aten::linalg_matmul"), "2·(batch, expanded)·M·N·K", _matmul),
    Kind(
        "linear",
        ("aten::linear", "aten::_mkldnn_linear", "vllm::rocm_unquantized_gemm", "aiter::gemm_a16w16"),
        "2·rows·N·K",
        _linear,
    ),
    Kind("mv", ("aten::mv",), "2·M·K", _mv),
    Kind("addmv", ("aten::addmv",), "2·M·K", _addmv),
    Kind("dot", ("aten::dot", "aten::vdot"), "2·K", _dot),
    Kind("scaled_mm", ("aten::_scaled_mm", "aten::_scaled_mm_v2"), "2·M·N·K", _scaled),
    Kind("grouped_mm", ("aten::_grouped_mm", "aten::_scaled_grouped_mm"), "2·rows·N·K", _grouped),
    Kind("einsum", ("aten::einsum",), "2·(product of all indices)", _einsum),
)
