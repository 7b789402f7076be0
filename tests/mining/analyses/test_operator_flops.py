from pathlib import Path

import pytest

from tests.mining.operators.traces import Op, made
from tracelode.mining.mine import find

PRODUCT = Op("aten::mm", [[8, 4], [4, 16]], [100])
OUTSIDE = {"name": "alone", "start_ns": 5000, "end_ns": 5300}


def test_kinds_add_up_to_the_total_and_the_rest_is_counted(tmp_path: Path) -> None:
    ops = [PRODUCT, PRODUCT, Op("aten::relu", [[8]], [50]), Op("aten::mm", None, [50]), Op("my::op", [[3]], [100])]
    trace, archive = made(tmp_path, *ops, kernel=[OUTSIDE])
    found = find(trace, archive, "operator_flops")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    columns = ("kind", "calls", "kernels", "time_ns", "flops", "without_flops", "without_flops_ns")
    assert found.rows.select(columns).rows() == [
        ("mm", 3, 3, 250, 2048, 1, 50),
        ("comparison", 1, 1, 50, 8, 0, 0),
        ("no operator", 0, 1, 300, None, 1, 300),
        ("other", 1, 1, 100, None, 1, 100),
    ]  # fmt: skip
    whole = trace.sql("select sum(duration_ns)::bigint from kernel").item()
    assert found.rows["time_ns"].sum() == whole == 700
    assert found.rows["share"].sum() == pytest.approx(1)
    assert found.rows["flops_share"].drop_nulls().sum() == pytest.approx(1)
    assert found.rows["missing"].to_list() == [
        "shapes not recorded", None, "no operator around the launch", "no formula",
    ]  # fmt: skip
    assert found.sentence == (
        "2 056 FLOP in operators that hold 35.7 % of the kernel time (700 ns); 99.6 % of them in 3 calls of mm. For "
        "64.3 % of the kernel time FLOPs are not available."
    ).replace("2 056", "2\u202f056")
    assert found.notes[1].endswith(
        "most time in no operator (300 ns: no operator around the launch); other (100 ns: no formula); mm (50 ns: "
        "shapes not recorded)."
    )


def test_rates_count_the_time_of_what_is_known(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, PRODUCT, Op("aten::mm", None, [900]))
    row = find(trace, archive, "operator_flops").rows.row(0, named=True)
    assert row["tflops_per_s"] == pytest.approx(1024 / 100e-9 / 1e12)


def test_without_shapes_flops_are_not_available(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", None, [100]))
    found = find(trace, archive, "operator_flops")
    assert found.sentence == "FLOPs are not available: shapes not recorded."
    assert found.rows["flops"].to_list() == [None]


@pytest.mark.parametrize(("size", "told"), [(64, "524\u202f288 FLOP"), (1024, "2.15 GFLOP"), (16384, "8.8 TFLOP")])
def test_large_numbers_are_told_in_the_unit_that_reads_best(tmp_path: Path, size: int, told: str) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", [[size, size], [size, size]], [100]))
    sentence = find(trace, archive, "operator_flops").sentence
    assert sentence.startswith(told)
    assert "not available" not in sentence
