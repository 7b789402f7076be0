import pytest

from tests.mining.operators.calls import Number, counted, numbers, worked

LENGTH = 6


def _normalized(values: list[Number], weight: list[Number] | None, bias: list[Number] | None) -> list[Number]:
    """Layer normalisation of a row, with operations on elements counted and those on rows not."""
    total = Number(0)
    for one in values:
        total = total + one
    mean = float(total) / len(values)
    squares = Number(0)
    for one in values:
        deviation = one - mean
        squares = squares + deviation * deviation
    scale = 1 / (float(squares) / len(values)) ** 0.5
    Number.done -= len(values)  # the deviation is there already
    found = [(one - mean) * scale for one in values]
    found = [a * b for a, b in zip(found, weight, strict=True)] if weight else found
    return [a + b for a, b in zip(found, bias, strict=True)] if bias else found


def _rms(values: list[Number], weight: list[Number] | None) -> list[Number]:
    squares = Number(0)
    for one in values:
        squares = squares + one * one
    scale = 1 / (float(squares) / len(values)) ** 0.5
    found = [one * scale for one in values]
    return [a * b for a, b in zip(found, weight, strict=True)] if weight else found


def _gradients(values: list[Number], gradient: list[Number], weight: list[Number]) -> None:
    """All gradients of a row: of the input, of the weight, of the bias."""
    mean, scale, length = 0.4, 2.0, len(values)
    first, second = Number(0), Number(0)
    for one, given, factor in zip(values, gradient, weight, strict=True):
        normal, scaled = (one - mean) * scale, given * factor
        first, second = first + scaled, second + normal * scaled
        _, _ = weight[0] + given * normal, weight[0] + given  # each enters the sum of its column
        _ = (scaled - normal * (float(second) / length) - float(first) / length) * scale


def test_layer_norm_is_counted_as_it_is_computed() -> None:
    for affine, expected in ((True, 7 * LENGTH), (False, 5 * LENGTH)):
        with counted() as found:
            extra = numbers(LENGTH) if affine else None
            _normalized(numbers(LENGTH), extra, extra)
        assert found[0] == expected
        weight = [LENGTH] if affine else None
        done = worked("aten::native_layer_norm", [4, LENGTH], None, weight, weight, None)
        assert done.flops == 4 * expected


def test_rms_norm_is_counted_as_it_is_computed() -> None:
    with counted() as found:
        _rms(numbers(LENGTH), numbers(LENGTH))
    assert found[0] == 4 * LENGTH
    assert worked("aten::_fused_rms_norm", [4, LENGTH], None, [LENGTH], None).flops == 4 * found[0]
    assert worked("_C::rms_norm", [4, LENGTH], [4, LENGTH], [LENGTH], None).flops == 4 * found[0]
    assert worked("aten::_fused_rms_norm", [4, LENGTH], None, None, None).flops == 4 * 3 * LENGTH


def test_a_residual_that_is_added_first_is_one_more() -> None:
    shape = [4, LENGTH]
    done = worked("_C::fused_add_rms_norm", shape, shape, [LENGTH], None)
    assert done.flops == 4 * LENGTH * 5
    assert done.bytes == 4 * (4 * 4 * LENGTH + LENGTH)  # both are read and written
    into = worked("aiter::add_rmsnorm", shape, shape, shape, shape, [LENGTH], None)
    assert (into.flops, into.bytes) == (done.flops, done.bytes)


def test_gradients_are_counted_as_they_are_computed() -> None:
    with counted() as found:
        _gradients(numbers(LENGTH), numbers(LENGTH), numbers(LENGTH))
    assert found[0] == 13 * LENGTH
    shape = [4, LENGTH]
    operands = (shape, shape, None, [4, 1], [4, 1], [LENGTH], [LENGTH], None)
    values = ["", "", f"[{LENGTH}]", "", "", "", ""]
    whole = worked("aten::native_layer_norm_backward", *operands, values=[*values, "[True, True, True]"])
    assert whole.flops == 4 * found[0]
    only = worked("aten::native_layer_norm_backward", *operands, values=[*values, "[True, False, False]"])
    assert only.flops == 4 * 10 * LENGTH
    assert worked("aten::native_layer_norm_backward", *operands).missing == "which gradients are computed not recorded"


def test_groups_and_batches_are_counted_alike() -> None:
    shape, channels = [2, 3, 4, 4], [3]
    assert worked("aten::native_group_norm", shape, channels, channels).flops == 7 * 96
    assert worked("aiter::_groupnorm_run", shape, None, channels, channels, None).flops == 7 * 96
    operands = (shape, channels, channels, channels, channels)
    training = ["", "", "", "", "", "True", "0.1", "1e-05"]
    assert worked("aten::native_batch_norm", *operands, values=training).flops == 7 * 96
    evaluation = [*training[:5], "False"]
    done = worked("aten::miopen_batch_norm", *operands, values=evaluation)
    assert done.flops == 4 * 96
    assert done.bytes == 4 * (96 + 96 + 4 * 3)
    assert worked("aten::cudnn_batch_norm", *operands).missing == "whether it is training not recorded"


@pytest.mark.parametrize("library", ["cudnn", "miopen"])
def test_libraries_compute_all_gradients_of_batch_norm(library: str) -> None:
    shape, channels = [2, 3, 4, 4], [3]
    assert worked(f"aten::{library}_batch_norm_backward", shape, shape, channels).flops == 13 * 96
    values = ["", "", "", "", "", "", "", "True", "1e-05", "[True, False, False]"]
    assert worked("aten::native_batch_norm_backward", shape, shape, channels, values=values).flops == 10 * 96
    frozen = [*values[:7], "False", *values[8:]]
    assert worked("aten::native_batch_norm_backward", shape, shape, channels, values=frozen).flops is None


def test_other_gradients_of_groups_and_of_rms_norm() -> None:
    shape = [2, 3, 4, 4]
    values = [*[""] * 9, "[True, True, True]"]
    assert worked("aten::native_group_norm_backward", shape, shape, [2, 1], [2, 1], [3], values=values).flops == 13 * 96
    operands = ([4, LENGTH], [4, LENGTH], None, [4, 1], [LENGTH], None)
    told = ["", "", "", "", "", "[True, True]"]
    assert worked("aten::_fused_rms_norm_backward", *operands, values=told).flops == 4 * LENGTH * 9
