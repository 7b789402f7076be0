import pytest

from tests.mining.operators.calls import worked


def _places(size: int, window: int, step: int, pad: int, gap: int, up: bool) -> int:
    """The windows that begin in the padded input and, rounding up, not in its right padding."""
    starts = range(-pad, size + pad, step)
    room = size + pad - gap * (window - 1)
    return len([at for at in starts if at < room or (up and at < size and at - step < room - 1)])


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize(("size", "window", "step", "pad", "gap"), [(8, 3, 2, 1, 1), (7, 2, 2, 0, 1), (9, 3, 1, 1, 2)])
def test_a_maximum_compares_each_element_of_its_window(
    size: int, window: int, step: int, pad: int, gap: int, up: bool
) -> None:
    places = _places(size, window, step, pad, gap, up)
    values = ["", *(f"[{one}, {one}]" for one in (window, step, pad, gap)), str(up)]
    done = worked("aten::max_pool2d_with_indices", [2, 3, size, size], *[None] * 5, values=values)
    results = 2 * 3 * places * places
    assert done.flops == results * window * window
    assert done.bytes == 4 * 2 * 3 * size * size + (4 + 8) * results


def test_an_average_without_a_stride_moves_by_its_window() -> None:
    values = ["", "[2, 2]", "[]", "[0, 0]", "False"]
    done = worked("aten::avg_pool2d", [1, 1, 4, 4], *[None] * 4, values=values)
    assert (done.flops, done.bytes) == (4 * 4, 4 * (16 + 4))


def test_windows_that_divide_the_input_take_each_element_once() -> None:
    assert worked("aten::_adaptive_avg_pool2d", [1, 2, 4, 4], None, values=["", "[2, 2]"]).flops == 32
    overlapping = worked("aten::_adaptive_avg_pool2d", [1, 2, 4, 4], None, values=["", "[3, 3]"])
    assert overlapping.missing == "windows overlap: the sizes do not divide"


def test_gradients_are_handed_back() -> None:
    operands = ([1, 2, 2, 2], [1, 2, 4, 4], None, None, None, None, None, [1, 2, 2, 2])
    types = ["float", "float", "", "", "", "", "", "long int"]
    done = worked("aten::max_pool2d_with_indices_backward", *operands, types=types)
    assert (done.flops, done.bytes) == (8, 4 * 8 + 8 * 8 + 4 * 32)
    assert worked("aten::_adaptive_avg_pool2d_backward", [1, 2, 1, 1], [1, 2, 4, 4]).flops == 32


def test_what_does_not_fit_is_not_counted() -> None:
    values = ["", "[3, 3]", "[0, 0]", "[0, 0]", "[1, 1]", "False"]
    assert worked("aten::max_pool2d_with_indices", [1, 1, 4, 4], *[None] * 5, values=values).flops is None
    assert worked("aten::max_pool2d_with_indices", [1, 1, 4, 4], *[None] * 5).missing == "window not recorded"
