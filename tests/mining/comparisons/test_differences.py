from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.building import build
from tracelode.mining.comparisons.differences import compare, find, rows
from tracelode.mining.differences import Side
from tracelode.mining.mine import mine
from tracelode.store import Archive, Error, Trace

OPERATIONS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99)), max_size=30)


def _trace(folder: Path, iterations: int, names: list[str], duration: dict[str, int] | None = None) -> Trace:
    """A trace mined for iterations: `names` again and again, 10 ns an operation and 5 ns between them."""
    kernels: list[dict[str, Any]] = []
    start = 100
    for at, name in enumerate(names * iterations):
        length = (duration or {}).get(name, 10)
        kernels.append({"start_ns": start, "end_ns": start + length, "name": name, "correlation": at})
        start += length + 5
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in range(len(kernels))]
    trace, archive = build(folder, kernel=kernels, api=calls)
    return mine(trace, archive, "iterations")


def _by_kind(base: Trace, trace: Trace) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"total": [], "gaps": [], "operation": [], "sequence": []}
    for row in compare(base, trace)["pattern_diff"].to_pylist():
        found[row["kind"]].append(row)
    return found


BASE = ["load", "a", "b", "c", "d", "a", "b", "c", "d", "step"]


def test_a_fused_kernel_that_falls_apart_is_found_and_nothing_else(tmp_path: Path) -> None:
    other = ["load", "a", "x", "y", "z", "c", "d", "a", "x", "y", "z", "c", "d", "step"]
    found = _by_kind(_trace(tmp_path / "base", 12, BASE), _trace(tmp_path / "other", 12, other))
    assert [(row["change"], row["symbols"]) for row in found["sequence"]] == [
        ("appeared", ["x", "y", "z"]),
        ("vanished", ["b"]),
    ]
    changed = [row for row in found["operation"] if row["change"] != "same"]
    assert {(row["change"], *row["symbols"], row["delta_ns"]) for row in changed} == {
        ("vanished", "b", -20),
        ("appeared", "x", 20),
        ("appeared", "y", 20),
        ("appeared", "z", 20),
    }


def test_a_difference_is_parted_by_calls_and_speed(tmp_path: Path) -> None:
    base = _trace(tmp_path / "base", 12, BASE)
    other = _trace(tmp_path / "other", 12, [*BASE[:-1], "c", "step"], {"c": 16, "d": 7})
    rows = {row["symbols"][0]: row for row in _by_kind(base, other)["operation"]}
    assert [rows["c"][name] for name in ("change", "delta_ns", "calls_ns", "speed_ns")] == ["slower", 28, 10, 18]
    assert [rows["d"][name] for name in ("change", "delta_ns", "calls_ns", "speed_ns")] == ["faster", -6, 0, -6]
    assert [rows["a"][name] for name in ("change", "delta_ns")] == ["same", 0]


def test_an_iteration_that_waits_longer_differs_in_its_gaps_alone(tmp_path: Path) -> None:
    base = _trace(tmp_path / "base", 12, BASE)
    side = {"iterations": 12, "base_iterations": 12}
    (total,), (gaps,) = (_by_kind(base, base)[kind] for kind in ("total", "gaps"))
    assert {name: total[name] for name in side} == side
    assert (total["change"], total["delta_ns"], gaps["change"]) == ("same", 0, "same")
    # 12 times 10 operations and the 5 ns before each, but for the one before the first.
    assert total["time_ns"] == 12 * 150 - 5
    assert gaps["time_ns"] == 12 * 50 - 5


def test_traces_without_iterations_are_compared_as_wholes(tmp_path: Path) -> None:
    base, other = (_trace(tmp_path / name, 1, [name, "p", "q"]) for name in ("base", "other"))
    found = _by_kind(base, other)
    assert [(row["base_iterations"], row["iterations"], row["time_ns"]) for row in found["total"]] == [(1, 1, 40)]
    assert {(row["change"], *row["symbols"]) for row in found["operation"]} == {
        ("vanished", "base"),
        ("appeared", "other"),
        ("same", "p"),
        ("same", "q"),
    }


def test_a_trace_without_device_work_cannot_be_compared(tmp_path: Path) -> None:
    base = _trace(tmp_path / "base", 1, BASE)
    empty, _ = build(tmp_path / "empty", op=[{"start_ns": 0, "end_ns": 1, "name": "aten::add"}])
    with pytest.raises(Error, match="no kernel, copy or fill to compare"):
        compare(base, empty)


def test_the_finding_says_how_much_and_what_matters_most(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    base, other = _trace(tmp_path / "base", 12, BASE), _trace(folder, 12, BASE, {"d": 40})
    kept = Archive(folder / "archive").put_derived(other, "differences", 1, compare(base, other))
    found = find(base, kept)
    assert found.sentence == (
        "On average an iteration takes 210 ns instead of 150 ns, 40.0 % more; the largest difference, "
        "+60 ns, is d, slower."
    )
    assert found.rows.select("kind", "change", "delta_ns", "operations").rows() == [
        ("total", "longer", 60, None),
        ("operation", "slower", 60, "d"),
    ]
    assert kept.sql(found.sql).equals(found.rows)


def test_there_is_no_percentage_of_no_time(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    base, other = _trace(tmp_path / "base", 1, ["a"], {"a": 0}), _trace(folder, 1, ["a"])
    kept = Archive(folder / "archive").put_derived(other, "differences", 1, compare(base, other))
    assert find(base, kept).sentence == (
        "On average an iteration takes 10 ns instead of 0 ns; the largest difference, +10 ns, is a, slower."
    )


@settings(deadline=None, max_examples=200)
@given(OPERATIONS, OPERATIONS, st.integers(1, 5), st.integers(1, 5), st.integers(0, 3000), st.integers(0, 3000))
def test_operations_and_gaps_add_up_to_the_difference_exactly(
    base: list[tuple[int, int]], other: list[tuple[int, int]], before: int, now: int, base_ns: int, other_ns: int
) -> None:
    def side(operations: list[tuple[int, int]], iterations: int, span_ns: int) -> Side:
        symbols = np.array([symbol for symbol, _ in operations], np.int32)
        time = np.array([ns for _, ns in operations], np.int64)
        number = np.arange(len(operations)) * iterations // max(len(operations), 1)
        return Side(symbols, time, number, np.zeros(min(len(operations), 1), np.int64), iterations, span_ns)

    found = rows(side(base, before, base_ns), side(other, now, other_ns), list("abcde"))
    total, *parts = [row for row in found if row["kind"] != "sequence"]
    for name, iterations in (("base_time_ns", before), ("time_ns", now)):
        assert sum(row[name] for row in parts) == total[name]
        assert {row[name.replace("time_ns", "iterations")] for row in found} == {iterations}
    deltas = [Fraction(row["time_ns"], now) - Fraction(row["base_time_ns"], before) for row in (total, *parts)]
    assert deltas[0] == sum(deltas[1:]) == Fraction(other_ns, now) - Fraction(base_ns, before)
    assert total["delta_ns"] == round(deltas[0]) == sum(row["delta_ns"] for row in parts)
    for row, delta in zip((total, *parts), deltas, strict=True):
        assert abs(row["delta_ns"] - delta) <= 1
        assert row["calls_ns"] is None or row["calls_ns"] + row["speed_ns"] == row["delta_ns"]
