from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_runs import BODY, add, after, members, operations
from tracelode.mining.measured_run import mined
from tracelode.mining.run_differences import Work, causes, kernels, of_ranks, parts, statement, work_of
from tracelode.store import Archive, Trace


def _run(archive: Archive, name: str, *ranks: dict[str, list[dict[str, Any]]]) -> list[Trace]:
    return mined(members(*(add(archive, f"{name}{at}", tables) for at, tables in enumerate(ranks))), archive)


def _told(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[str, int]]:
    return {row["name"]: (row["change"], row["delta_ns"]) for row in rows if row["change"] != "same"}


def test_work_is_what_the_steady_iterations_are_made_of(tmp_path: Path) -> None:
    (found,) = work_of(_run(Archive(tmp_path), "run", operations(10)))
    assert (found.steps, found.span_ns) == (10, 994)
    assert found.calls == {"copy HtoD": 10, "a": 10, "nccl_all_reduce": 10, "b": 10, "c": 10}
    assert found.time_ns == {"copy HtoD": 40, "a": 100, "nccl_all_reduce": 200, "b": 300, "c": 60}
    assert sum(found.idle_ns.values()) == 294


def test_first_iterations_that_only_take_longer_are_no_difference(tmp_path: Path) -> None:
    warming = after(operations(3, length={"b": 90}), operations(10))
    (found,) = work_of(_run(Archive(tmp_path), "run", warming))
    assert (found.steps, found.span_ns, found.time_ns["b"]) == (10, 1_000, 300)


def test_planted_changes_are_told_and_nothing_else(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = work_of(_run(archive, "base", operations(10)))
    other = work_of(_run(archive, "other", operations(10, ("copy", "a", "nccl_all_reduce", "b", "b", "x"), {"a": 25})))
    rows = parts([base], [other])
    # An iteration has one more operation, with 6 ns before it; the first one of all has no wait.
    assert _told(rows) == {
        "iteration": ("longer", 55),
        "b": ("more", 30),
        "a": ("slower", 15),
        "x": ("appeared", 10),
        "c": ("vanished", -6),
        "device": ("longer", 6),
    }
    assert causes(rows).by_cause == {"appeared": 10, "vanished": -6, "calls": 30, "speed": 15, "gaps": 6, "overlap": 0}
    assert causes(rows).total == 55


def test_each_run_and_each_rank_of_it_counts_alike(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = [work_of(_run(archive, "base", operations(10)))]
    short = work_of(_run(archive, "short", operations(10, length={"a": 20})))
    long = work_of(_run(archive, "long", operations(40, length={"a": 20}), operations(10, length={"a": 40})))
    # The mean of 20 and of the mean of 20 and 40 is 25, and 10 it was.
    assert _told(parts(base, [short, long]))["a"] == ("slower", 15)


def test_time_that_is_counted_twice_is_taken_off(tmp_path: Path) -> None:
    tables = operations(10)
    beside = [
        {**row, "name": "beside", "stream": 8, "correlation": 100 + at}
        for at, row in enumerate(tables["kernel"])
        if row["name"] == "b"
    ]
    calls = [
        {"start_ns": 2 * at + 1, "end_ns": 2 * at + 2, "correlation": 100 + at} for at, _ in enumerate(tables["kernel"])
    ]
    archive = Archive(tmp_path)
    base = work_of(_run(archive, "base", operations(10)))
    other = work_of(
        _run(archive, "other", tables | {"kernel": tables["kernel"] + beside, "api": tables["api"] + calls})
    )
    told = _told(parts([base], [other]))
    assert (told["beside"], told["operations at the same time"]) == (("appeared", 30), ("shorter", -30))


COUNTS = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(1, 9), st.integers(0, 999)), max_size=4)
IDLE = st.dictionaries(st.sampled_from(["host", "launch"]), st.integers(0, 500), max_size=2)


@st.composite
def _works(draw: st.DrawFn) -> Work:
    work = draw(COUNTS)
    calls, times = {k: count for k, (count, _) in work.items()}, {k: ns for k, (_, ns) in work.items()}
    return Work(draw(st.integers(1, 9)), draw(st.integers(0, 9_999)), calls, times, draw(IDLE))


SIDE = st.lists(st.lists(_works(), min_size=1, max_size=3), min_size=1, max_size=3)


@given(SIDE, SIDE)
def test_parts_and_causes_add_up_to_the_difference_exactly(base: list[list[Work]], other: list[list[Work]]) -> None:
    total, *rest = parts(base, other)
    assert sum(row["delta_ns"] for row in rest) == total["delta_ns"]
    assert sum(causes([total, *rest]).by_cause.values()) == causes([total, *rest]).total == total["delta_ns"]
    assert all(row["calls_ns"] + row["speed_ns"] == row["delta_ns"] for row in rest if row["kind"] == "operation")


@given(SIDE)
def test_a_side_beside_itself_is_the_same_in_everything(side: list[list[Work]]) -> None:
    assert {row["change"] for row in parts(side, side)} == {"same"}


def test_the_statement_gives_the_numbers_again(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = [_run(archive, f"base-{at}", operations(10, length={"a": 10 + at})) for at in range(2)]
    other = [_run(archive, "other-", operations(10, [*BODY, "x"], {"b": 33}), operations(12, [*BODY, "x"]))]
    rows = parts(*([work_of(run) for run in side] for side in (base, other)))
    told = archive.sql(statement(base, other)).to_dicts()
    assert [(row["kind"], row["name"]) for row in told[:3]] == [(row["kind"], row["name"]) for row in rows[:3]]
    by_name = {row["name"]: row for row in told}
    assert len(told) == len(rows)
    for row in rows:
        for key in ("base_ns", "ns", "delta_ns"):
            assert row[key] == pytest.approx(by_name[row["name"]][key], abs=1.01)
        assert (row["calls"] or 0) == pytest.approx(by_name[row["name"]]["calls"])


def _one(**time_ns: int) -> list[Work]:
    return [Work(1, sum(time_ns.values()), dict.fromkeys(time_ns, 1), time_ns, {})]


def test_operations_are_tested_against_chance_from_three_runs_on() -> None:
    base = [_one(a=100, b=50, c=7), _one(a=101, b=60, c=7), _one(a=99, b=40, c=7)]
    other = [_one(a=110, b=55, d=9), _one(a=111, b=45, d=9), _one(a=109, b=52, d=9)]
    assert kernels(base[:2], other) == []
    rows = {row["name"]: (row["base_ns"], row["ns"], row["change"], row["changed"]) for row in kernels(base, other)}
    assert rows == {
        "a": (100, 110, 0.1, True),
        "b": (50, 52, 0.04, False),
        "c": (7, 0, -1, True),
        "d": (0, 9, None, True),
    }


def test_the_difference_on_each_rank_is_known_where_all_runs_have_as_many() -> None:
    base, other = [*_one(a=10, b=5), *_one(a=10, b=5)], [*_one(a=10, b=9), *_one(a=50, b=5)]
    assert of_ranks([base], [other, other]) == {("operation", "a"): [0, 40], ("operation", "b"): [4, 0]}
    assert of_ranks([base], [other[:1]]) == of_ranks([base[:1]], [other[:1]]) == {}


def test_a_trace_without_iterations_has_work_only_as_a_whole(tmp_path: Path) -> None:
    traces = _run(Archive(tmp_path), "run", operations(1))
    assert work_of(traces) == []
    (found,) = work_of(traces, whole=True)
    assert (found.steps, found.span_ns, found.time_ns["b"]) == (1, 94, 30)
