import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.operators.calls import worked
from tracelode.mining.operator_work import FAMILIES, LARGEST, OTHER, kind_of, work
from tracelode.mining.operators.call import read_call

DOCS = Path(__file__).parents[2] / "docs" / "flops.md"
KINDS = [kind for kinds in FAMILIES.values() for kind in kinds]


# ResNet-18 as He et al. publish it (2015, table 1): for each stage its width and the stride of its first block.
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


def _convolved(size: int, inputs: int, outputs: int, kernel: int, stride: int) -> tuple[int, int]:
    """The FLOPs of a convolution of a square image, and the size of its result."""
    margin = kernel // 2
    values = ["", "", "", *(f"[{one}, {one}]" for one in (stride, margin, 1)), "False", "[0, 0]", "1"]
    done = worked(
        "aten::convolution", [1, inputs, size, size], [outputs, inputs, kernel, kernel], *[None] * 7, values=values
    )
    assert done.result is not None
    return done.flops or 0, done.result.shape[2]


def test_resnet_18_has_the_published_flops() -> None:
    flops, size = _convolved(224, 3, 64, 7, 2)
    assert size == 112
    size, width = 56, 64  # after pooling
    for outputs, first in STAGES:
        for stride in (first, 1):
            one, after = _convolved(size, width, outputs, 3, stride)
            two, _ = _convolved(after, outputs, outputs, 3, 1)
            shortcut = _convolved(size, width, outputs, 1, stride)[0] if stride > 1 or width != outputs else 0
            flops += one + two + shortcut
            size, width = after, outputs
    assert (size, width) == (7, 512)
    flops += worked("aten::addmm", [1000], [1, 512], [512, 1000], None, None).flops or 0
    # torchvision documents 1.81 G multiply-adds for ResNet18_Weights.IMAGENET1K_V1, as "GFLOPS"
    assert abs(flops / 2 / 1.81e9 - 1) < 0.02
    assert flops == 3_628_146_688


def _bert(length: int) -> int:
    """The FLOPs of the 12 layers of BERT-base (768 wide, 12 heads) for one text of that many tokens."""
    wide = [1, length, 768]
    layer = [
        *[worked("aten::addmm", [768], [length, 768], [768, 768], None, None)] * 4,
        worked("aten::scaled_dot_product_attention", *[[1, 12, length, 64]] * 3),
        worked("aten::addmm", [3072], [length, 768], [768, 3072], None, None),
        worked("aten::gelu", [1, length, 3072], None),
        worked("aten::addmm", [768], [length, 3072], [3072, 768], None, None),
        *[worked("aten::add", wide, wide, None), worked("aten::native_layer_norm", wide, None, [768], [768], None)] * 2,
    ]
    assert all(done.flops for done in layer)
    return 12 * sum(done.flops or 0 for done in layer)


def test_bert_base_has_the_published_flops() -> None:
    # Sun et al., MobileBERT (ACL 2020), results on GLUE: 22.5 G FLOPs for BERT-base and 128 tokens
    assert abs(_bert(128) / 22.5e9 - 1) < 0.02
    # Narayanan et al. (SC 2021), appendix: 24·s·h²·(1 + s / 6h) for each layer, forward
    for length in (128, 512):
        formula = 12 * 24 * length * 768**2 * (1 + length / (6 * 768))
        assert abs(_bert(length) / formula - 1) < 0.02


def test_products_written_out_count_as_attention_in_one_operator() -> None:
    scores = worked("aten::bmm", [12, 128, 64], [12, 64, 128]).flops or 0
    values = worked("aten::bmm", [12, 128, 128], [12, 128, 64]).flops or 0
    assert worked("aten::scaled_dot_product_attention", *[[1, 12, 128, 64]] * 3).flops == scores + values


def test_no_operator_has_two_formulas() -> None:
    names = [name for kind in KINDS for name in kind.operators]
    assert len(names) == len(set(names))
    assert len(KINDS) >= 30


def test_in_place_forms_and_generated_kernels_are_found_by_name() -> None:
    assert kind_of("aten::add_")[0] == "elementwise"
    assert kind_of("triton_red_fused_sum_3")[0] == "generated"
    assert kind_of("my::operator") == (OTHER, None)
    assert kind_of("") == (OTHER, None)


def test_what_is_not_known_is_never_0() -> None:
    assert worked("my::operator", [3], [3]).missing == "no formula"
    done = work("aten::mm", None)
    assert (done.family, done.kind, done.flops, done.bytes) == ("gemm", "mm", None, None)
    assert done.missing == done.bytes_missing == "shapes not recorded"
    assert worked("aten::mm").missing == "no shape of operand 0"


def test_complex_numbers_have_no_formula() -> None:
    done = worked("aten::mm", [2, 3], [3, 4], type="c10::complex<float>")
    assert (done.flops, done.missing, done.bytes) == (None, "no formula for complex numbers", 8 * (6 + 12 + 8))


def test_nothing_overflows() -> None:
    huge = 2**48 - 1
    done = worked("aten::bmm", [huge, huge, huge], [huge, huge, huge])
    assert (done.flops, done.missing) == (None, "more than any operator does")
    assert (done.bytes, done.bytes_missing) == (None, "more than any operator moves")
    assert worked("aten::mm", [0, 5], [5, 0]).flops == 0
    values = ["", "", "", "[1, 1]", "[99999999999999999999, 1]", "[1, 1]"]
    assert worked("aten::conv2d", [1, 1, 5, 5], [1, 1, 3, 3], None, values=values).flops is None


def test_sizes_that_are_none_are_not_counted() -> None:
    pool = worked(
        "aten::max_pool2d_with_indices", [1, 1, 4, 4], *[None] * 5, values=["", "[]", "[]", "[]", "[]", "False"]
    )
    assert pool.missing == "window, stride and padding do not fit the input"
    up = worked("aten::upsample_nearest2d", [1, 1, 4, 4], None, values=["", "[-8, 8]"])
    assert (up.bytes, up.bytes_missing) == (None, "more than any operator moves")


SHAPE = st.lists(st.integers(-2, 9) | st.sampled_from([2**31, 2**47, 10**30]), max_size=5)
OPERAND = SHAPE | st.lists(SHAPE, max_size=3) | st.none() | st.text(max_size=3)
VALUE = st.sampled_from(
    ["", "True", "False", "0", "1", "-1", "[1, 1]", "[0]", "[]", "[True, False, True]", "[-2, 9]", "x"]
)
TYPE = st.sampled_from(["float", "c10::Half", "long int", "bool", "Scalar", "TensorList", "", None, 3])


@settings(max_examples=200)
@given(
    st.sampled_from([name for kind in KINDS for name in kind.operators] + ["triton_x", "x"]),
    st.lists(OPERAND, max_size=9),
    st.lists(TYPE, max_size=9),
    st.lists(VALUE, max_size=12),
)
def test_any_call_has_a_number_or_a_reason(name: str, shapes: list[Any], types: list[Any], values: list[str]) -> None:
    call = read_call(name, json.dumps(shapes), json.dumps(types), json.dumps({"Concrete Inputs": values}))
    done = work(name, call)
    for number, why in ((done.flops, done.missing), (done.bytes, done.bytes_missing)):
        assert (number is None) == bool(why)
        assert number is None or 0 <= number <= LARGEST


def test_every_kind_is_documented_with_its_formula() -> None:
    page = DOCS.read_text()
    for family, kinds in FAMILIES.items():
        for kind in kinds:
            names = ", ".join(f"`{name}`" for name in kind.operators)
            row = f"| {family} | {kind.name} | {kind.formula} | {names} |"
            assert row in page, f"docs/flops.md lacks the row\n{row}"
