from tests.mining.operators.calls import counted, numbers, worked

SOME = [[2, 3], [4]]


def test_adam_is_counted_as_it_is_computed() -> None:
    p, g, m, v = numbers(4)
    with counted() as found:
        m = m * 0.9 + g * 0.1
        v = v * 0.999 + g * g * 0.001
        _ = p - m * 0.01 / (v.sqrt() / 0.99 + 1e-8)
    assert found[0] == 13
    assert worked("aten::_fused_adam_", SOME, SOME, SOME, SOME, [], [[1], [1]]).flops == 13 * 10
    assert worked("aten::_fused_adamw_", SOME, SOME, SOME, SOME).flops == 13 * 10


def test_descent_with_and_without_momentum() -> None:
    p, g, buffer = numbers(3)
    with counted() as found:
        buffer = buffer * 0.9 + g
        _ = p - buffer * 0.01
    assert found[0] == 4
    assert worked("aten::_fused_sgd_", SOME, SOME, SOME).flops == 40
    assert worked("aten::_fused_sgd_", SOME, SOME, [], types=["TensorList"] * 3).flops == 20


def test_adagrad_is_counted_as_it_is_computed() -> None:
    p, g, total = numbers(3)
    with counted() as found:
        total = total + g * g
        _ = p - g * 0.01 / (total.sqrt() + 1e-8)
    assert found[0] == 7
    assert worked("aten::_fused_adagrad_", SOME, SOME, SOME, [[1], [1]]).flops == 70


def test_lists_without_shapes_are_not_counted() -> None:
    types = ["TensorList"] * 4
    assert worked("aten::_fused_adam_", [], [], [], [], types=types).missing == "no shapes of the tensors in list 0"
    assert worked("aten::_fused_adam_", SOME, SOME).flops is None
