from pathlib import Path

import pytest

from tests.building import build
from tests.mining.programs import train
from tracelode.mining.kernel_calls import calls, of_calls
from tracelode.mining.mine import mine
from tracelode.store import NotCollected, Trace

QUERY = "select * from ({calls}) order by all"
BODY = ["sgemm", "relu", "ncclDevKernel_AllReduce", "relu"]


def _both(trace: Trace) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """The calls as the table has them, and as SQL gives them."""
    columns = ("name", "category", "duration_ns", "inside", "steps")
    found, told = of_calls(trace, QUERY), trace.sql(QUERY.format(calls=calls(trace)))
    return found.select(columns).rows(), told.select(columns).rows()


def test_the_table_of_calls_has_what_their_sql_gives_with_and_without_iterations(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, ["once"], *[BODY] * 12, ["last"])
    found, told = _both(trace)
    assert found == told
    assert {(row[3], row[4]) for row in found} == {(False, 0)}
    found, told = _both(mine(trace, archive, "iterations"))
    assert found == told
    assert {(row[0], row[3]) for row in found} >= {("once", False), ("last", False), ("sgemm", True)}
    assert {row[4] for row in found} == {12}


def test_calls_without_names_or_with_flawed_times_are_told_alike(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 0, "end_ns": 0, "name": None, "flaw": "no start"},
        {"start_ns": 10, "end_ns": 10, "name": "sgemm", "flaw": "overlong"},
        {"start_ns": 20, "end_ns": 27, "name": "sgemm"},
    ]
    found, told = _both(build(tmp_path, kernel=kernels)[0])
    assert found == told
    assert found == [
        ("(no name)", "other", None, False, 0),
        ("sgemm", "gemm", 7, False, 0),
        ("sgemm", "gemm", None, False, 0),
    ]


def test_without_kernels_it_is_said_what_is_missing(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, copy=[{"start_ns": 0, "end_ns": 1}])
    with pytest.raises(NotCollected, match="table kernel was not collected"):
        of_calls(trace, QUERY)
