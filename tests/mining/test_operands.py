import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.building import build
from tracelode.mining.nested import NONE
from tracelode.mining.operands import operands


def _op(id: int, name: str, shapes: Any = None, values: Any = None, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"id": id, "name": name, "start_ns": id, "end_ns": 100 - id}
    if shapes is not None:
        row |= {"shapes": json.dumps(shapes), "types": json.dumps(["float"] * len(shapes))}
    if values is not None:
        row["args"] = json.dumps({"Record function id": id, "Concrete Inputs": values, "Ev": [1]})
    return row | more


def test_operands_are_those_of_the_operator_or_of_the_nearest_around_it_with_shapes(tmp_path: Path) -> None:
    ops = [
        _op(0, "aten::linear", [[2, 3], [4, 3]]),
        _op(1, "aten::mm", [[2, 3], [3, 4]], parent=0),
        _op(2, "cuda", parent=1),
        _op(3, "top", thread=2),
    ]
    trace, _ = build(tmp_path, op=ops)
    found = operands(trace, np.array([2, 1, 3, NONE, 99]))
    # 6 + 12 numbers of 4 bytes go in, 2 × 4 come out
    assert found.inputs.tolist() == [72, 72, NONE, NONE, NONE]
    assert found.outputs.tolist() == [32, 32, 0, 0, 0]
    assert found.told.tolist() == ["formula", "formula", None, None, None]


def test_plain_arguments_are_found_among_other_members(tmp_path: Path) -> None:
    ops = [
        _op(0, "aten::sum", [[4, 5], [], []], ["", "[0]", "False"]),
        _op(1, "aten::sum", [[4, 5], [], []], ['a ] \\" b', "[0, 1]", "False"]),
        _op(2, "aten::sum", [[4, 5], [], []]),
    ]
    for op in ops:
        op["types"] = '["float", "ScalarList", "Scalar"]'
    trace, _ = build(tmp_path, op=ops)
    found = operands(trace, np.array([0, 1, 2]))
    assert found.outputs.tolist() == [4 * 5, 4, 0]
    assert found.told.tolist() == ["formula", "formula", "unknown"]


def test_the_weight_of_a_gradient_is_that_of_the_operator_around_it(tmp_path: Path) -> None:
    # (input, gradient, weight) around (size of the weight, gradient, input): 4 · 3 · 3 · 3 numbers come out
    ops = [
        _op(0, "aten::cudnn_convolution_backward", [[1, 3, 8, 8], [1, 4, 6, 6], [4, 3, 3, 3]]),
        _op(1, "aten::cudnn_convolution_backward_weight", [[], [1, 4, 6, 6], [1, 3, 8, 8]], parent=0),
    ]
    ops[1]["types"] = '["", "float", "float"]'
    trace, _ = build(tmp_path, op=ops)
    found = operands(trace, np.array([1]))
    assert (found.inputs.tolist(), found.outputs.tolist()) == ([4 * (144 + 192)], [4 * 108])


def test_more_than_any_operator_has_is_not_known(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, op=[_op(0, "x", [[2**47, 2**47, 2**47]])])
    assert operands(trace, np.array([0])).inputs.tolist() == [NONE]


def test_without_launches_nothing_is_asked(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, op=[_op(0, "aten::mm", [[2, 3], [3, 4]])])
    found = operands(trace, np.zeros(0, np.int64))
    assert (len(found.inputs), len(found.outputs), len(found.told)) == (0, 0, 0)
