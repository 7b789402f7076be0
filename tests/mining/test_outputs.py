import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mining.operators.calls import recorded
from tracelode.mining.operator_work import LARGEST
from tracelode.mining.operators.call import read_call
from tracelode.mining.outputs import FORMULA, LACKING, OPERANDS, UNKNOWN, Outputs, outputs

NOT_KNOWN = Outputs(0, UNKNOWN)


def _made(name: str, *operands: Any, **more: Any) -> Outputs:
    return outputs(name, recorded(name, *operands, **more))


def test_a_formula_gives_the_tensor_that_is_made() -> None:
    assert _made("aten::mm", [2, 3], [3, 4]) == Outputs(4 * 8, FORMULA)
    assert _made("aten::addmm", [4], [2, 3], [3, 4], None, None, type="c10::Half") == Outputs(2 * 8, FORMULA)
    assert _made("aten::add", [4, 1], [5], None) == Outputs(4 * 20, FORMULA)
    assert _made("aten::eq", [10], [10]) == Outputs(10, FORMULA)
    assert _made("aten::native_dropout", [10], None, None) == Outputs(40 + 10, FORMULA)
    stride = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    assert _made("aten::convolution", [1, 3, 8, 8], [16, 3, 3, 3], *[None] * 7, values=stride) == Outputs(
        4 * 16 * 4 * 4, FORMULA
    )


def test_what_is_written_into_an_operand_adds_nothing() -> None:
    given_ = Outputs(0, OPERANDS)
    assert _made("aten::add_", [10], [10], None) == given_
    assert _made("aten::copy_", [10], [10], None, types=["c10::Half", "float", "Scalar"]) == given_
    assert _made("aten::index_put_", [10], None, [10], None) == given_  # no formula, but PyTorch's convention
    assert _made("triton_poi_fused_add_0", [10], [10], None) == given_
    assert _made("sgl_kernel::silu_and_mul", [4, 8], [4, 16]) == given_
    assert _made("_C::rms_norm", [4, 8], [4, 8], [8], None) == given_


def test_names_of_python_and_of_others_are_not_taken_for_in_place() -> None:
    assert _made("aten::__and__", [10], [10]) == NOT_KNOWN
    assert _made("my::operator_", [10]) == NOT_KNOWN


@pytest.mark.parametrize(
    ("name", "operands", "values"),
    [
        ("aten::mm", ([2, 3], [3, 4], [2, 4]), ()),
        ("aten::addmm", ([4], [2, 3], [3, 4], None, None, [2, 4]), ()),
        ("aten::_softmax", ([2, 6], None, None, [2, 6]), ("", "1", "False", "")),
        ("aten::sum", ([4, 5], None, None, None, [5]), ("", "[0]", "False", "", "")),
        ("aten::mul", ([10], [10], [10]), ()),
        ("aten::exp", ([10], [10]), ()),
        ("aten::where", ([10], [10], [10], [10]), ()),
    ],
)
def test_a_tensor_given_to_be_written_into_adds_nothing(name: str, operands: Any, values: Any) -> None:
    assert _made(name, *operands, values=values) == Outputs(0, OPERANDS)
    without = _made(name, *operands[:-1], values=values[:-1])
    assert without.told == FORMULA
    assert without.bytes > 0


def test_statistics_of_rows_are_not_among_the_bytes_which_is_said() -> None:
    assert _made("aten::native_layer_norm", [2, 8], None, [8], [8], None) == Outputs(4 * 16, LACKING)
    qkv = [[1, 2, 16, 8]] * 3
    assert _made("aten::_scaled_dot_product_flash_attention", *qkv, type="c10::Half") == Outputs(2 * 256, LACKING)
    assert _made("aten::max", [4, 5], None, None, values=["", "1", "False"]) == Outputs(4 * 4, LACKING)


def test_what_no_formula_gives_is_not_known() -> None:
    assert outputs("aten::mm", None) == NOT_KNOWN
    assert _made("my::operator", [3]) == NOT_KNOWN
    assert _made("aten::index", [3], [[3]]) == NOT_KNOWN
    assert _made("aten::mm", [2, 3], [4, 4]) == NOT_KNOWN
    assert _made("aten::mm", [2, 3], [3, 4], types=["", ""]) == NOT_KNOWN
    assert _made("aten::conv2d", [1, 3, 8, 8], [16, 3, 3, 3], None) == NOT_KNOWN  # the stride was not recorded
    assert _made("aten::bmm", *[[2**40, 2**40, 2**40]] * 2) == NOT_KNOWN


def test_the_type_of_the_result_is_that_of_a_plain_argument_or_not_known() -> None:
    half = {"type": "c10::Half"}
    assert _made("aten::_softmax", [2, 6], None, None, **half) == NOT_KNOWN
    assert _made("aten::_softmax", [2, 6], None, None, values=["", "1", "False"], **half).bytes == 2 * 12
    assert _made("aten::_softmax", [2, 6], None, None, values=["", "1", "True"], **half).bytes == 4 * 12
    assert _made("aten::_to_copy", [10], None, values=["", "6"], **half).bytes == 40
    assert _made("aten::_to_copy", [10], None, **half) == NOT_KNOWN


def test_whole_numbers_may_come_to_another_type() -> None:
    assert _made("aten::div", [10], [10], type="int") == NOT_KNOWN
    assert _made("aten::sum", [10], None, values=["", ""], type="bool") == NOT_KNOWN
    assert _made("aten::_int_mm", [2, 3], [3, 4], type="signed char") == NOT_KNOWN
    assert _made("aten::lt", [10], [10], type="long int") == Outputs(10, FORMULA)
    assert _made("aten::amax", [4, 5], None, None, values=["", "[1]", "False"], type="int") == Outputs(16, FORMULA)
    assert _made("aten::bitwise_and", [10], [10], type="bool") == Outputs(10, FORMULA)
    assert _made("aten::clone", [10], None, type="long int") == Outputs(80, FORMULA)


NAMES = ["aten::mm", "aten::sum", "aten::add", "aten::add_", "aten::_softmax", "aten::max", "triton_x", "aten::x_", "x"]
SHAPE = st.lists(st.integers(-2, 9) | st.sampled_from([2**31, 2**47, 10**30]), max_size=4)
OPERAND = SHAPE | st.lists(SHAPE, max_size=2) | st.none()
TYPE = st.sampled_from(["float", "c10::Half", "long int", "Scalar", "TensorList", "", None])


@given(st.sampled_from(NAMES), st.lists(OPERAND, max_size=5), st.lists(TYPE, max_size=5))
def test_any_call_has_bytes_or_none_are_known(name: str, shapes: list[Any], types: list[Any]) -> None:
    found = outputs(name, read_call(name, json.dumps(shapes), json.dumps(types), None))
    assert 0 <= found.bytes <= LARGEST
    assert found.bytes == 0 or found.told in (FORMULA, LACKING)
