import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.operators.call import Missing, Tensor, read_call, type_named


def test_a_call_is_read_as_kineto_writes_it() -> None:
    # aten::miopen_convolution of a trace of the PyTorch profiler, with made numbers
    call = read_call(
        "aten::miopen_convolution",
        "[[4, 3, 8, 8], [6, 3, 2, 2], [], [], [], [], []]",
        '["c10::BFloat16", "c10::BFloat16", "", "ScalarList", "ScalarList", "Scalar", "float"]',
        '{"Record function id": 0, "Concrete Inputs": ["", "", "", "[0, 0]", "[True, False]", "False", "0.5"], '
        '"Input Strides": [[192, 64, 0, 1], [12, 4, 2, 1], [], [], [], [], []]}',
    )
    assert call is not None
    assert call.tensor(0) == Tensor((4, 3, 8, 8), "bf16", 4 * 3 * 8)
    assert call.tensor(0).elements == 768
    assert call.maybe(2) is None
    assert call.tensor(6) == Tensor((), "fp32", 1)
    assert call.numbers(3, "padding") == (0, 0)
    assert call.flags(4, 2, "mask") == (True, False)
    assert call.flag(5, "benchmark") is False
    assert call.value(6) == 0.5
    assert call.value(99) is None
    assert len(call.all()) == 3
    for asked in (
        lambda: call.tensor(2),
        lambda: call.tensor(0, 2),
        lambda: call.numbers(5, "x"),
        lambda: call.tensors(0),
    ):
        with pytest.raises(Missing):
            asked()


def test_plain_arguments_are_told_from_types_of_tensors() -> None:
    # PyTorch 1.8 wrote Int, Bool and Double for arguments, and int, bool and double for tensors
    assert [type_named(one) for one in ("int", "bool", "double", "c10::Half")] == ["int32", "bool", "fp64", "fp16"]
    assert [type_named(one) for one in ("Int", "Bool", "Double", "Scalar", "", None, 3)] == [None] * 7


def test_lists_of_tensors_have_shapes_without_types() -> None:
    call = read_call("aten::cat", "[[[2, 3], [4]], []]", '["TensorList", "Scalar"]', None)
    assert call is not None
    assert call.tensors(0) == (Tensor((2, 3), None, 6), Tensor((4,), None, 4))


@pytest.mark.parametrize("shapes", [None, "", "3", "{}", '"x"', "[[", "nan", '{"a": [1]}', "[" * 100_000])
def test_what_is_no_list_of_shapes_is_no_call(shapes: str | None) -> None:
    assert read_call("aten::mm", shapes, None, None) is None


@pytest.mark.parametrize("shape", ["x", {"a": 1}, [-1], [1.5], [True], ["4"], [None], [2**48], [1] * 65, 7, None])
def test_what_is_no_shape_is_no_tensor(shape: Any) -> None:
    call = read_call("aten::mm", json.dumps([shape, [2]]), '["float", "float"]', None)
    assert call is not None
    assert call.maybe(0) is None
    assert call.tensor(1).shape == (2,)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(ANY, ANY, ANY, ANY)
def test_whatever_stands_there_is_read(shapes: Any, types: Any, values: Any, strides: Any) -> None:
    args = json.dumps({"Concrete Inputs": values, "Input Strides": strides})
    call = read_call("aten::mm", json.dumps(shapes), json.dumps(types), args)
    assert call is None or all(one.elements >= one.stored >= 0 for one in call.all())
