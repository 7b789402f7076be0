from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mining.programs import KERNEL_NS, PACE_NS, STEP, train
from tracelode.mining.analyses import edits
from tracelode.mining.mine import mine
from tracelode.store import Trace

SIZE = len(STEP)
GAP = PACE_NS - KERNEL_NS


def _rows(trace: Trace, iteration: int, *columns: str) -> list[tuple[Any, ...]]:
    return trace.edit.filter(pl.col("iteration") == iteration).sort("number").select(columns).collect().rows()


def test_an_edit_script_says_what_was_replaced_inserted_and_left_out(tmp_path: Path) -> None:
    other = [*STEP[:4], "strange", *STEP[5:9], "extra", *STEP[9:20], *STEP[21:]]
    trace = mine(*train(tmp_path, *[STEP] * 5, other, *[STEP] * 6), "edits")
    assert _rows(trace, 5, "kind", "column", "ordinal", "expected", "label", "dt_ns", "wait_dt_ns") == [
        ("substitution", 4, 5 * SIZE + 4, "project_gemm", "strange", 0, 0),
        ("insertion", 9, 5 * SIZE + 9, None, "extra", PACE_NS, GAP),
        ("deletion", 20, None, "back_gemm", None, -PACE_NS, -GAP),
        ("rest", None, None, None, None, 0, 0),
    ]
    assert trace.edit.collect()["iteration"].unique().to_list() == [5]


def test_a_slow_operation_accounts_for_the_time_of_its_iteration(tmp_path: Path) -> None:
    longer = {7 * SIZE + 5: 40 * KERNEL_NS}
    trace = mine(*train(tmp_path, *[STEP] * 12, longer=longer), "edits")
    assert _rows(trace, 7, "kind", "column", "time_ns", "usual_ns", "label", "dt_ns", "wait_dt_ns") == [
        ("slow", 5, 41 * KERNEL_NS, KERNEL_NS, "gelu_kernel", 40 * KERNEL_NS, 0),
        ("rest", None, None, None, None, 0, 0),
    ]


def test_the_operations_of_a_slow_iteration_are_listed_by_what_they_add(tmp_path: Path) -> None:
    longer = {3 * SIZE + at: 100 * at for at in range(SIZE)}
    trace = mine(*train(tmp_path, *[STEP] * 12, longer=longer), "edits")
    rows = _rows(trace, 3, "kind", "column", "dt_ns")
    assert rows[:2] == [("time", 24, 2400), ("time", 23, 2300)]
    assert [kind for kind, _, _ in rows] == ["time"] * 20 + ["rest"]
    assert rows[-1] == ("rest", None, 100 + 200 + 300 + 400)


def test_a_wait_is_told_from_work(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 6, STEP[:10], STEP[10:], *[STEP] * 6), "edits")
    rows = _rows(trace, 6, "kind", "column", "label", "dt_ns", "wait_dt_ns")
    assert rows == [("time", 10, "project_gemm", 5_000, 5_000), ("rest", None, None, 0, 0)]


DELAYS = st.dictionaries(st.integers(0, 12 * SIZE - 1), st.integers(1, 90_000), max_size=6)
CUTS = st.lists(st.tuples(st.integers(1, 11), st.integers(0, SIZE - 1), st.integers(1, 4)), max_size=3)


@settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DELAYS, CUTS)
def test_differences_in_time_add_up_exactly(
    tmp_path_factory: Any, longer: dict[int, int], cuts: list[tuple[int, int, int]]
) -> None:
    units = [list(STEP) for _ in range(12)]
    for unit, at, count in cuts:
        del units[unit][at : at + count]
    trace = mine(*train(tmp_path_factory.mktemp("trace"), *units, longer=longer), "edits")
    told = trace.edit.group_by("level", "iteration", "type").agg(pl.col("dt_ns").sum())
    time = trace.iteration.with_columns(time=pl.col("end_ns") - pl.col("from_ns"))
    rest = told.join(time, on=["level", "iteration"]).with_columns(usual=pl.col("time") - pl.col("dt_ns")).collect()
    steady = trace.unit.join(time.filter(pl.col("phase") == "steady"), on=["level", "iteration"]).collect()
    for (kind,), part in rest.group_by(["type"]):
        times = steady.filter(steady["type"] == kind)["time"].sort()
        if len(times):
            assert part["usual"].unique().to_list() == [times[(len(times) - 1) // 2]]


def test_the_same_trace_gives_the_same_rows(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 6, STEP[3:], *[STEP] * 6, longer={40: 99_000}), "edits")
    assert edits.mine(trace)["edit"].equals(edits.mine(trace)["edit"])
