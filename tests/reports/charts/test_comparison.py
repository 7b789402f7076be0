from typing import Any

import pytest

from tracelode.reports.charts.comparison import MARKS, kernel_scatter, run_values, strips, waterfall


def _values(specification: dict[str, Any]) -> list[dict[str, Any]]:
    return specification["data"]["values"]


def test_bars_of_causes_begin_where_the_one_before_ends() -> None:
    rows = [("new", 5_000), ("gone", -2_000), ("slower", 1_000), ("an iteration", 4_000)]
    drawn = _values(waterfall([{"cause": cause, "delta_ns": ns} for cause, ns in rows]))
    assert [(bar["begin"], bar["end"], bar["kind"]) for bar in drawn] == [
        (0, 5, "longer"),
        (5, 3, "shorter"),
        (3, 4, "longer"),
        (0, 4, "whole"),
    ]


def test_runs_are_points_and_the_change_has_an_interval() -> None:
    rows = [
        {"metric": "Median", "side": "base", "run": "one", "change": 0.0},
        {"metric": "Median", "side": "candidate", "run": "two", "change": 0.1},
        {"metric": "Median", "side": "candidate", "low": 0.05, "high": 0.15},
    ]
    drawn = _values(run_values(rows))
    assert [(one["kind"], one["side"], one["change"], one["low"]) for one in drawn] == [
        ("run", "base", 0.0, None),
        ("run", "candidate", 0.1, None),
        ("interval", "candidate", None, 0.05),
    ]


def test_only_the_operations_that_differ_most_are_named() -> None:
    drawn = _values(kernel_scatter([{"name": f"k{at}", "base_ns": 1000 + at, "ns": 2000} for at in range(7)]))
    assert [one["name"] for one in drawn] == ["k0", "k1", "k2", "k3", "k4", "", ""]
    assert (drawn[0]["base"], drawn[0]["now"]) == (1, 2)


def test_neighbours_of_one_mark_are_one_stretch_of_a_strip() -> None:
    same = {"mark": "same", "name": "a", "base_start_ns": 0, "base_ns": 400, "start_ns": 0, "ns": 400}
    more = {"mark": "same", "name": "b", "base_start_ns": 400, "base_ns": 600, "start_ns": 500, "ns": 600}
    new = {"mark": "inserted", "name": "x<y>", "base_start_ns": None, "base_ns": None, "start_ns": 400, "ns": 100}
    drawn = _values(strips([same, new, more], 1000, 1100))
    told = sorted((one["side"], round(one["begin"] * 1000), round(one["end"] * 1000), one["mark"]) for one in drawn)
    assert told == [
        ("base", 0, 1000, "same"),
        ("candidate", 0, 400, "same"),
        ("candidate", 400, 500, "inserted"),
        ("candidate", 500, 1100, "same"),
    ]
    assert set(MARKS) == {"same", "slower", "faster", "inserted", "removed"}


def test_a_strip_of_very_many_stretches_is_still_drawn() -> None:
    rows = [
        {"mark": ("same", "slower")[at % 2], "name": "k", "base_start_ns": at, "base_ns": 1, "start_ns": at, "ns": 1}
        for at in range(3_000)
    ]
    assert len(_values(strips(rows, 3_000, 3_000))) == 2_000


@pytest.mark.parametrize("draw", [waterfall, run_values, kernel_scatter])
def test_nothing_is_not_drawn(draw: Any) -> None:
    with pytest.raises(ValueError, match="no rows to draw"):
        draw([])
