import pytest

from tests.mining.operators.calls import Number, counted, numbers, worked


def test_the_result_has_the_shape_that_operands_are_expanded_to() -> None:
    done = worked("aten::add", [4, 1, 3], [5, 1], None)
    assert done.flops == 60
    assert done.bytes == 4 * (12 + 5 + 60)
    assert worked("aten::mul", [4], [5]).missing == "the shapes do not fit together"


def test_a_tensor_that_is_written_into_counts_once() -> None:
    assert worked("aten::mul", [4], [4], [4]).bytes == 4 * (4 + 4 + 4)
    assert worked("aten::exp", [4], [4]).bytes == 4 * (4 + 4)


def test_a_number_is_a_tensor_of_one_element() -> None:
    assert worked("aten::mul", [4], [], types=["float", "double"]).bytes == 16 + 8 + 16
    assert worked("aten::mul", [4], None).bytes == 32


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("relu_", 1),
        ("sqrt", 1),
        ("exp", 1),
        ("sigmoid", 1),
        ("where", 0),
        ("masked_fill_", 0),
        ("add_", 1),
        ("gelu", 2),
    ],
)
def test_in_place_forms_and_functions_count_for_each_element(name: str, each: int) -> None:
    assert worked(f"aten::{name}", [2, 3]).flops == 6 * each


def test_composed_functions_are_counted_as_they_are_computed() -> None:
    x, g, y = (numbers(3)[at] for at in range(3))
    cases = {
        "silu": lambda: x * (Number(0) - x).exp(),  # sigmoid counts 1: a negated exponential stands for it
        "addcmul": lambda: x + g * y * 0.5,
        "lerp": lambda: x + (g - x) * y,
        "sigmoid_backward": lambda: g * (Number(1) - y) * y,
        "tanh_backward": lambda: g * (Number(1) - y * y),
        "silu_backward": lambda: g * y.larger(x) * ((x * (Number(1) - y)) + 1),
        "softplus": lambda: (x.exp() + 1).sqrt(),  # a root stands for the logarithm: both are functions
    }
    for name, computed in cases.items():
        with counted() as found:
            computed()
        done = worked(f"aten::{name}", [1], [1], [1])
        assert done.flops == found[0] - (1 if name == "silu" else 0), name  # the sign of its exponent


def test_comparisons_give_truth_values() -> None:
    done = worked("aten::eq", [10], [10], type="c10::Half")
    assert (done.flops, done.bytes) == (10, 2 * 20 + 10)
    assert worked("aten::logical_and", [10], [10], type="bool").bytes == 30


def test_whole_numbers_have_no_flops() -> None:
    done = worked("aten::add", [10], [10], type="long int")
    assert (done.flops, done.detail, done.type) == (0, "whole numbers", "int64")


def test_the_type_is_that_of_the_floating_operands() -> None:
    done = worked("aten::add", [10], [10], types=["long int", "c10::BFloat16"])
    assert (done.type, done.flops, done.bytes) == ("bf16", 10, 80 + 20 + 20)


def test_types_that_are_not_recorded_leave_flops_but_no_bytes() -> None:
    done = worked("aten::add", [10], [10], types=["", ""])
    assert (done.flops, done.bytes, done.bytes_missing) == (10, None, "types not recorded")


def test_lists_are_counted_tensor_by_tensor() -> None:
    some = [[2, 3], [4]]
    assert worked("aten::_foreach_add_", some, some, None).flops == 10
    assert worked("aten::_foreach_addcdiv_", some, some, some, None).flops == 30
    assert worked("aten::_foreach_copy_", some, some, None).flops == 0
    assert worked("aten::_amp_foreach_non_finite_check_and_unscale_", some, [1], [1]).flops == 10
    unknown = worked("aten::_foreach_add_", [], [], None, types=["TensorList", "TensorList", "Scalar"])
    assert unknown.missing == "no shapes of the tensors in list 0"


def test_a_gated_activation_multiplies_one_half_with_the_other() -> None:
    done = worked("sgl_kernel::silu_and_mul", [4, 8], [4, 16], type="c10::Half")
    assert (done.flops, done.bytes) == (3 * 32, 2 * (64 + 32))
    assert worked("_C::silu_and_mul", [4, 8], [4, 8]).flops is None


def test_a_loss_is_a_sum_of_squares() -> None:
    with counted() as found:
        total = Number(0)
        for a, b in zip(numbers(5), numbers(5), strict=True):
            total = total + (a - b) * (a - b)
    assert found[0] == 5 * 4  # the difference is there once
    done = worked("aten::mse_loss", [5], [5], None, values=["", "", "1"])
    assert (done.flops, done.bytes) == (15, 4 * 11)
    assert worked("aten::mse_loss", [5], [5], None, values=["", "", "0"]).bytes == 4 * 15
    assert worked("aten::mse_loss", [5], [5], None).bytes is None
