import pytest

from tests.mining.operators.calls import worked

B, H, SQ, SK, D, DV = 2, 3, 5, 7, 4, 6


def _product(rows: int, inner: int, columns: int) -> int:
    """Operations of a product of matrices, by its loops."""
    return sum(2 for _ in range(rows) for _ in range(columns) for _ in range(inner))


FORWARD = B * H * (_product(SQ, D, SK) + _product(SQ, SK, DV))
# The scores again; the gradients of values and probabilities; those of queries and keys.
BACKWARD = B * H * (
    _product(SQ, D, SK) + _product(SK, SQ, DV) + _product(SQ, DV, SK) + _product(SQ, SK, D) + _product(SK, SQ, D)
)  # fmt: skip
HEADS_FIRST = ([B, H, SQ, D], [B, H, SK, D], [B, H, SK, DV])
HEADS_LAST = ([B, SQ, H, D], [B, SK, H, D], [B, SK, H, DV])


def test_attention_is_two_products_of_matrices_for_each_head() -> None:
    assert FORWARD == 2 * B * H * SQ * SK * (D + DV) == 4200
    for name in ("flash", "efficient", "cudnn"):
        assert worked(f"aten::_scaled_dot_product_{name}_attention", *HEADS_FIRST).flops == FORWARD
    assert worked("aten::scaled_dot_product_attention", *HEADS_FIRST).flops == FORWARD
    assert worked("aten::_cudnn_attention_forward", *HEADS_FIRST).flops == FORWARD
    for name in ("flash", "efficient"):
        assert worked(f"aten::_{name}_attention_forward", *HEADS_LAST).flops == FORWARD
    assert worked("flash_attn::_flash_attn_forward", *HEADS_LAST).flops == FORWARD


def test_its_gradient_is_five() -> None:
    first, last = [B, H, SQ, DV], [B, SQ, H, DV]
    assert BACKWARD == 2 * B * H * SQ * SK * (3 * D + 2 * DV)
    for name in ("flash", "efficient", "cudnn"):
        done = worked(f"aten::_scaled_dot_product_{name}_attention_backward", first, *HEADS_FIRST)
        assert done.flops == BACKWARD
    for name in ("flash", "efficient"):
        assert worked(f"aten::_{name}_attention_backward", last, *HEADS_LAST).flops == BACKWARD


def test_heads_of_keys_may_be_shared() -> None:
    shared = worked("aten::scaled_dot_product_attention", [B, 6, SQ, D], [B, 2, SK, D], [B, 2, SK, DV])
    assert shared.flops == 2 * FORWARD
    assert worked("aten::scaled_dot_product_attention", [B, 6, SQ, D], [B, 4, SK, D], [B, 4, SK, DV]).flops is None


def test_causal_attention_counts_in_full_and_says_so() -> None:
    values = ["", "", "", "", "", "5", "7", "0.", "True"]
    done = worked("aten::_flash_attention_forward", *HEADS_LAST, values=values)
    assert (done.flops, done.detail) == (FORWARD, "causal: counted in full")
    assert worked("aten::_flash_attention_forward", *HEADS_LAST, values=[*values[:8], "False"]).detail is None
    efficient = ["", "", "", "", "", "", "", "", "0.", "1"]
    assert worked("aten::_efficient_attention_forward", *HEADS_LAST, values=efficient).detail is not None


def test_bytes_are_those_of_queries_keys_values_and_the_result() -> None:
    done = worked("aten::_flash_attention_forward", *HEADS_LAST, type="c10::Half")
    assert done.bytes == 2 * B * H * (SQ * D + SK * D + SK * DV + SQ * DV)


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("aten::_flash_attention_forward", ([40, H, D], [40, H, D], [40, H, D])),
        ("aten::_efficient_attention_forward", (*HEADS_LAST, None, [3], [3])),
        ("vllm::unified_attention_with_output", ([40, 8, 64], [40, 1, 64], [40, 1, 64], [40, 8, 64])),
        ("aiter::mha_batch_prefill", ([40, 8, 64], [900, 1, 64], [900, 1, 64])),
    ],
)
def test_packed_sequences_and_pages_of_keys_are_not_available(
    name: str, operands: tuple[list[int] | None, ...]
) -> None:
    done = worked(name, *operands)
    assert (done.family, done.flops) == ("attention", None)
    assert done.missing == "lengths of the sequences are not recorded"


def test_other_shapes_are_not_attention() -> None:
    assert worked("aten::scaled_dot_product_attention", [2, 3], [2, 3], [2, 3]).missing == (
        "no attention of four dimensions"
    )
    assert worked("aten::scaled_dot_product_attention", [2, 0, 3, 3], [2, 0, 3, 3], [2, 0, 3, 3]).flops is None
