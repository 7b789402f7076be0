from pathlib import Path

import pytest

from tests.mining.operators.traces import Op, made
from tracelode.mining.mine import find

PRODUCT = [[8, 4], [4, 16]]


def test_time_and_flops_are_told_by_type(tmp_path: Path) -> None:
    ops = [
        Op("aten::mm", PRODUCT, [100]),
        Op("aten::relu", [[8]], [50]),
        Op("aten::mm", PRODUCT, [200], type="float", kernel="gemm_tf32"),
        Op("aten::mm", None, [50]),
    ]
    trace, archive = made(tmp_path, *ops, kernel=[{"name": "alone", "start_ns": 5000, "end_ns": 5100}])
    found = find(trace, archive, "precision")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    assert found.rows.select("type", "tf32", "calls", "time_ns", "flops", "matrix_ns", "matrix_flops").rows() == [
        ("fp32", True, 1, 200, 1024, 200, 1024),
        ("bf16", False, 2, 150, 1032, 100, 1024),
        ("not recorded", None, 1, 150, None, 50, 0),
    ]
    assert found.rows["share"].sum() == pytest.approx(1)
    assert found.sentence == "Of the kernel time 40.0 % in fp32, 30.0 % in bf16; of the FLOPs 50.2 % in bf16."


def test_without_types_it_is_said(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", None, [50]))
    assert find(trace, archive, "precision").sentence == "Types of operands were not recorded."


def test_without_flops_the_time_stands_alone(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::copy_", [[8], [8]], [50]))
    assert find(trace, archive, "precision").sentence == "Of the kernel time 100.0 % in bf16."
