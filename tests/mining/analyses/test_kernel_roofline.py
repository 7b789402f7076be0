from pathlib import Path

import pytest

from tests.mining.operators.traces import Op, made
from tracelode.mining.mine import find

PRODUCT = [[1024, 1024], [1024, 1024]]
GFLOP = 2 * 1024**3 / 1e9


def test_a_kernel_has_the_part_of_its_operator_that_is_its_part_of_the_time(tmp_path: Path) -> None:
    ops = [
        Op("aten::mm", PRODUCT, [5000], kernel="gemm"),
        Op("aten::mm", PRODUCT, [3000, 1000], kernel="split_gemm"),
        Op("my::op", [[3]], [100], kernel="gemm"),
        Op("aten::add", [*PRODUCT, None], [4000], kernel="add"),
    ]
    trace, archive = made(tmp_path, *ops, kernel=[{"name": "alone", "start_ns": 50_000, "end_ns": 50_200}])
    found = find(trace, archive, "kernel_roofline")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    columns = ("name", "calls", "time_ns", "without_flops", "shared", "bound")
    assert found.rows.select(columns).rows() == [
        ("gemm", 2, 5100, 1, 0, "compute"),
        ("add", 1, 4000, 0, 0, "memory"),
        ("split_gemm", 2, 4000, 0, 2, "compute"),
        ("alone", 1, 200, 1, 0, "not known"),
    ]
    assert found.rows["gflop"].to_list() == [
        pytest.approx(GFLOP), pytest.approx(1024**2 / 1e9), pytest.approx(GFLOP), None,
    ]  # fmt: skip
    assert found.rows["tflops_per_s"][0] == pytest.approx(GFLOP / 5000e-9 / 1e3)
    assert found.rows["gb_per_s"][1] == pytest.approx(6 * 1024**2 / 4000)
    assert found.rows["roof_share"][2] == pytest.approx(GFLOP * 1e9 / 989.4e12 * 1e9 / 4000)
    whole = find(trace, archive, "operator_flops").rows["flops"].sum()
    assert found.rows["gflop"].sum() == pytest.approx(whole / 1e9)
    assert found.rows["time_ns"].sum() == 13_300
    assert found.sentence.startswith(
        "Of 4 kernel names (13.3 µs of kernel time) 3 have FLOPs of their operators; 50.0 % of them"
    )


def test_without_shapes_no_kernel_has_flops(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", None, [100]))
    found = find(trace, archive, "kernel_roofline")
    assert found.rows.select("gflop", "without_flops", "bound").rows() == [(None, 1, "not known")]
    assert found.sentence == "Of 1 kernel name (100 ns of kernel time) 0 have FLOPs of their operators."
