"""Attention in one operator: its matrix products alone, as `torch.utils.flop_counter` has it.

Softmax, scale, mask and dropout are not counted. Causal attention counts in full, as there, though about half of the
products are not needed: the detail says so. Where sequences of several lengths are packed, or keys lie in pages, their
lengths are not in the shapes: nothing is counted.
"""

from collections.abc import Callable

from .call import Call, Missing, Tensor
from .kind import PART, Count, Kind

__all__ = ["KINDS"]

CAUSAL = "causal: counted in full"
PACKED = "lengths of the sequences are not recorded"


def _sizes(q: Tensor, k: Tensor, v: Tensor, *, heads: int) -> tuple[int, int, int]:
    """Batch · heads · queries · keys, width of a query, width of a value; `heads`: the position of that dimension."""
    if not len(q.shape) == len(k.shape) == len(v.shape) == 4:
        raise Missing(PACKED if len(q.shape) == 3 else "no attention of four dimensions")
    length = 3 - heads
    fits = q.shape[0] == k.shape[0] == v.shape[0] and q.shape[3] == k.shape[3] and k.shape[length] == v.shape[length]
    if not fits or not k.shape[heads] or q.shape[heads] % k.shape[heads]:
        raise Missing("the shapes do not fit together")
    return q.shape[0] * q.shape[heads] * q.shape[length] * k.shape[length], q.shape[3], v.shape[3]


def _forward(heads: int, causal: int, packed: int | None = None) -> Callable[[Call], Count]:
    """Attention of (q, k, v, ...): where the heads are, the causal argument, and offsets of packed sequences."""

    def count(call: Call) -> Count:
        q, k, v = (call.tensor(at) for at in range(3))
        if packed is not None and call.maybe(packed):
            raise Missing(PACKED)
        pairs, width, value_width = _sizes(q, k, v, heads=heads)
        written = q.like(*q.shape[:3], value_width)
        return Count(2 * pairs * (width + value_width), [q, k, v], [written], q.type, detail=_detail(call, causal))

    return count


def _backward(heads: int, causal: int, packed: int | None = None) -> Callable[[Call], Count]:
    """Its gradient, of (gradient, q, k, v, ...): the scores again, and two products for each of the forward pass."""

    def count(call: Call) -> Count:
        gradient, q, k, v = (call.tensor(at) for at in range(4))
        if packed is not None and call.maybe(packed):
            raise Missing(PACKED)
        pairs, width, value_width = _sizes(q, k, v, heads=heads)
        written = [tensor.like(*tensor.shape) for tensor in (q, k, v)]
        result = gradient.like(*gradient.shape)  # the result of the forward pass is read again
        flops = 2 * pairs * (3 * width + 2 * value_width)
        return Count(flops, [gradient, q, k, v, result], written, q.type, detail=_detail(call, causal))

    return count


def _detail(call: Call, at: int) -> str:
    told = call.value(at)
    return CAUSAL if told is True or (isinstance(told, int) and not isinstance(told, bool) and told > 0) else ""


def _packed(call: Call) -> Count:
    """Attention over packed sequences or pages of keys: only what is not known."""
    return Count(None, (), None, call.tensor(0).type, PACKED)


SCALED = "aten::_scaled_dot_product_{}attention{}"
FORWARD = "2·B·H·Sq·Sk·(D + Dv)"
BACKWARD = "2·B·H·Sq·Sk·(3·D + 2·Dv)"

KINDS = (
    Kind(
        "attention",
        ("aten::scaled_dot_product_attention", SCALED.format("fused_", "_overrideable")),
        FORWARD,
        _forward(1, 5),
        PART,
    ),
    Kind("flash_attention_sdp", (SCALED.format("flash_", ""),), FORWARD, _forward(1, 4), PART),
    Kind(
        "efficient_attention_sdp",
        (SCALED.format("efficient_", ""), SCALED.format("cudnn_", "")),
        FORWARD,
        _forward(1, 6),
        PART,
    ),
    Kind("flash_attention", ("aten::_flash_attention_forward",), FORWARD, _forward(2, 8), PART),
    Kind("efficient_attention", ("aten::_efficient_attention_forward",), FORWARD, _forward(2, 9, 4), PART),
    Kind("cudnn_attention", ("aten::_cudnn_attention_forward",), FORWARD, _forward(1, 10, 4), PART),
    Kind("flash_attn_library", ("flash_attn::_flash_attn_forward",), FORWARD, _forward(2, 5), PART),
    Kind("flash_attention_sdp_backward", (SCALED.format("flash_", "_backward"),), BACKWARD, _backward(1, 11)),
    Kind(
        "efficient_attention_sdp_backward",
        (SCALED.format("efficient_", "_backward"),),
        BACKWARD,
        _backward(1, 11),
        PART,  # the gradient of a bias, too
    ),
    Kind("cudnn_attention_sdp_backward", (SCALED.format("cudnn_", "_backward"),), BACKWARD, _backward(1, 14)),
    Kind("flash_attention_backward", ("aten::_flash_attention_backward",), BACKWARD, _backward(2, 11)),
    Kind("efficient_attention_backward", ("aten::_efficient_attention_backward",), BACKWARD, _backward(2, 14, 6), PART),
    Kind(
        "packed_attention",
        (
            "vllm::unified_attention", "vllm::unified_attention_with_output", "aiter::mha_batch_prefill",
            "aiter::paged_attention", "flash_attn::_flash_attn_varlen_forward",
            "flash_attn::_flash_attn_varlen_backward",
        ),
        "not available: the lengths of the sequences are not recorded",
        _packed,
    ),
)  # fmt: skip
