from itertools import product
from math import prod

import pytest

from tests.mining.operators.calls import recorded, worked


def _loops(
    size: tuple[int, ...], channels: int, weight: tuple[int, ...], stride: int, padding: int, dilation: int
) -> tuple[int, tuple[int, ...]]:
    """Multiply-adds of a convolution by going through all its outputs, padding counted as data; and its size."""
    outputs, _, *kernel = weight
    groups = channels // weight[1]
    space = []
    for length, window in zip(size, kernel, strict=True):
        places = [at for at in range(-padding, length + padding) if at + dilation * (window - 1) < length + padding]
        space.append(len(places[::stride]))
    taken = [channels // groups, *kernel]
    each = sum(1 for _ in product(*map(range, [*space, groups, outputs // groups, *taken])))
    return each, tuple(space)


CASES = [
    ((6, 7), 3, (4, 3, 3, 3), 1, 1, 1),
    ((9, 9), 4, (6, 2, 3, 3), 2, 1, 1),  # two groups
    ((11, 8), 4, (4, 1, 3, 3), 2, 2, 2),  # depthwise, dilated
    ((5,), 2, (3, 2, 2), 1, 0, 1),
    ((3, 4, 5), 2, (2, 2, 2, 2, 2), 2, 1, 1),
]


@pytest.mark.parametrize(("size", "channels", "weight", "stride", "padding", "dilation"), CASES)
def test_a_convolution_is_two_flops_for_each_step_of_its_loops(
    size: tuple[int, ...], channels: int, weight: tuple[int, ...], stride: int, padding: int, dilation: int
) -> None:
    each, space = _loops(size, channels, weight, stride, padding, dilation)
    rank = len(size)
    told = [f"[{', '.join([str(number)] * rank)}]" for number in (stride, padding, dilation)]
    shapes = ([5, channels, *size], list(weight))
    whole = worked(
        "aten::convolution", *shapes, None, None, None, None, None, None, None,
        values=["", "", "", *told, "False", "[0]", "1"],
    )  # fmt: skip
    assert whole.flops == 2 * 5 * each
    assert whole.result is not None
    assert whole.result.shape == (5, weight[0], *space)
    assert whole.bytes == 4 * (5 * channels * prod(size) + prod(weight) + 5 * weight[0] * prod(space))
    ordered = [told[1], told[0], told[2], "1"]  # libraries take the padding first
    assert worked("aten::cudnn_convolution", *shapes, values=["", "", *ordered]).flops == whole.flops
    assert worked("aten::miopen_convolution", *shapes, None, values=["", "", "", *ordered]).flops == whole.flops
    assert worked("aten::conv2d", *shapes, None, values=["", "", "", *told, "1"]).flops == whole.flops
    added = ["", "", "", "1", "", *told]
    assert worked("aten::cudnn_convolution_add_relu", *shapes, values=added).flops == whole.flops
    assert worked("aten::cudnn_convolution_relu", *shapes, values=["", "", "", *told]).flops == whole.flops


def test_each_gradient_costs_as_much_as_the_forward_pass() -> None:
    each, space = _loops((9, 9), 4, (6, 2, 3, 3), 2, 1, 1)
    shapes = ([5, 6, *space], [5, 4, 9, 9], [6, 2, 3, 3])
    values = ["", "", "", "[6]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"]
    for mask, gradients in (("[True, True, False]", 2), ("[False, True, True]", 1), ("[True, False, True]", 1)):
        done = worked("aten::convolution_backward", *shapes, values=[*values, mask])
        assert done.flops == gradients * 2 * 5 * each
    assert worked("aten::convolution_backward", *shapes, values=values).missing == (
        "which gradients are computed not recorded"
    )


def test_libraries_compute_one_gradient_at_a_time() -> None:
    each, space = _loops((9, 9), 4, (6, 2, 3, 3), 2, 1, 1)
    gradient, one, weight = [5, 6, *space], [5, 4, 9, 9], [6, 2, 3, 3]
    inputs = worked("aten::cudnn_convolution_backward_input", None, gradient, weight, values=["[5, 4, 9, 9]"])
    weights = worked("aten::miopen_convolution_backward_weight", None, gradient, one, values=["[6, 2, 3, 3]"])
    assert inputs.flops == weights.flops == 2 * 5 * each
    assert inputs.bytes == 4 * (prod(gradient) + prod(weight) + prod(one))
    assert worked("aten::cudnn_convolution_backward_input", None, gradient, weight).bytes_missing == (
        "shape of the result not known"
    )


def test_the_operator_around_tells_the_size_of_the_weight() -> None:
    each, space = _loops((9, 9), 4, (6, 2, 3, 3), 2, 1, 1)
    gradient, one, weight = [5, 6, *space], [5, 4, 9, 9], [6, 2, 3, 3]
    parent = recorded("aten::cudnn_convolution_backward", one, gradient, weight)
    name = "aten::cudnn_convolution_backward_weight"
    assert worked(name, None, gradient, one, parent=parent).flops == 2 * 5 * each
    assert worked(name, None, gradient, one).missing == "size of the weight not recorded"
    other = recorded("aten::something", one, gradient, weight)
    assert worked(name, None, gradient, one, parent=other).flops is None


def test_a_transposed_convolution_counts_its_inputs() -> None:
    # Each of the 5·4·4 places of the input is multiplied with the whole weight of 3 by 2 by 2 by 2.
    values = ["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]
    done = worked("aten::convolution", [5, 3, 4, 4], [3, 2, 2, 2], None, values=values)
    assert done.flops == 2 * 5 * 4 * 4 * 3 * 2 * 2 * 2
    assert done.bytes is None
    assert worked("aten::conv_transpose2d", [5, 3, 4, 4], [3, 2, 2, 2], None).flops == done.flops
    gradient = ["", "", "", "[2]", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1", "[True, True, False]"]
    back = worked("aten::convolution_backward", [5, 2, 8, 8], [5, 3, 4, 4], [3, 2, 2, 2], values=gradient)
    assert back.flops == 2 * (done.flops or 0)


def test_padding_in_words_is_understood() -> None:
    values = ["", "", "", "[2, 2]", "same", "[1, 1]", "1"]
    assert worked("aten::conv2d", [1, 1, 5, 5], [1, 1, 3, 3], None, values=values).flops == 2 * 9 * 9
    assert worked("aten::conv2d", [1, 1, 5, 5], [1, 1, 3, 3], None, values=[*values[:4], "valid", "1"]).flops == (
        2 * 4 * 9
    )


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ([], "stride not recorded"),
        (["", "", "", "[1, 1]"], "dilation not recorded"),
        (["", "", "", "[1, 1]", "", "[1, 1]"], "padding not recorded"),
        (["", "", "", "[0, 1]", "[1, 1]", "[1, 1]"], "stride or dilation is none"),
        (["", "", "", "[1, 1, 1]", "[1, 1]", "[1, 1]"], "stride, padding or dilation is of another dimension"),
        (["", "", "", "[1, 1]", "[0, 0]", "[9, 9]"], "the kernel is larger than its input"),
    ],
)
def test_what_is_not_recorded_is_not_guessed(values: list[str], missing: str) -> None:
    done = worked("aten::conv2d", [1, 1, 5, 5], [1, 1, 3, 3], None, values=values)
    assert (done.flops, done.missing) == (None, missing)
    assert done.kind == "convNd"


def test_whether_it_is_transposed_must_be_recorded() -> None:
    assert (
        worked("aten::convolution", [1, 1, 5, 5], [1, 1, 3, 3], None).missing == "whether it is transposed not recorded"
    )
    assert worked("aten::conv2d", [5, 5], [1, 1, 3, 3], None).missing == "input and weight are of other dimensions"
