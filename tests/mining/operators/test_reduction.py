from tests.mining.operators.calls import Number, counted, numbers, worked


def test_softmax_is_counted_as_it_is_computed() -> None:
    values = numbers(6)
    with counted() as found:
        top, total = Number(-1e9), Number(0)
        for one in values:
            top = top.larger(one)
        powers = [(one - top).exp() for one in values]
        for one in powers:
            total = total + one
        _ = [one / total for one in powers]
    assert found[0] == 30
    assert worked("aten::_softmax", [2, 6], None, None).flops == 2 * 30
    assert worked("aten::_log_softmax", [2, 6], None, None).flops == 2 * 30


def test_the_gradient_of_softmax_is_counted_as_it_is_computed() -> None:
    with counted() as found:
        total = Number(0)
        for y, g in zip(numbers(6), numbers(6), strict=True):
            total = total + y * g
        _ = [y * (g - total) for y, g in zip(numbers(6), numbers(6), strict=True)]
    assert found[0] == 24
    assert worked("aten::_softmax_backward_data", [2, 6], [2, 6], None, None).flops == 2 * 24
    assert worked("aten::_log_softmax_backward_data", [2, 6], [2, 6], None, None).flops == 2 * 24


def test_a_sum_adds_every_element() -> None:
    done = worked("aten::sum", [4, 5, 6], None, None, values=["", "[0, -1]", "False"])
    assert done.flops == 120
    assert done.bytes == 4 * (120 + 5)
    kept = worked("aten::mean", [4, 5, 6], None, None, values=["", "[1]", "True"])
    assert kept.result is not None
    assert kept.result.shape == (4, 1, 6)


def test_no_dimension_named_means_all() -> None:
    assert worked("aten::sum", [4, 5], None, None, values=["", "[]", "False"]).bytes == 4 * 21
    assert worked("aten::max", [4, 5]).bytes == 4 * 21


def test_a_result_whose_shape_is_not_told_leaves_flops() -> None:
    done = worked("aten::sum", [4, 5], None, None)
    assert (done.flops, done.bytes, done.bytes_missing) == (20, None, "shape of the result not known")


def test_the_type_asked_for_is_that_of_the_result() -> None:
    half = {"type": "c10::Half"}
    assert worked("aten::sum", [4, 5], None, None, None, values=["", "[1]", "False", "6"], **half).bytes == 40 + 4 * 4
    assert worked("aten::sum", [4, 5], None, values=["", "6"], **half).bytes == 40 + 4
    assert worked("aten::mean", [4, 5], None, values=["", ""], **half).bytes == 40 + 2
    assert worked("aten::cumsum", [4, 5], None, None, values=["", "1", "6"], **half).bytes == 40 + 80
    assert worked("aten::_softmax", [2, 6], None, None, values=["", "1", "True"], **half).bytes == 24 + 48
    back = worked("aten::_softmax_backward_data", [2, 6], [2, 6], None, None, values=["", "", "1", "5"])
    assert back.bytes == 2 * 48 + 24


def test_the_larger_of_two_tensors_is_no_reduction() -> None:
    assert worked("aten::max", [4, 5], [4, 5]).bytes_missing == "shape of the result not known"


def test_other_reductions() -> None:
    assert worked("aten::linalg_vector_norm", [4, 5], None, None, None).flops == 40
    assert worked("aten::var", [4, 5], None).flops == 80
    assert worked("aten::argmax", [4, 5], None, None, values=["", "1", "False"]).bytes == 4 * 20 + 8 * 4
    assert worked("aten::cumsum", [4, 5], None).flops == 20
    assert worked("aten::sum", [4, 5], type="int").flops == 0
