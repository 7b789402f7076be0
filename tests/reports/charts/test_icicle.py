from typing import Any

import pytest

from tracelode.reports.charts.icicle import changes, icicle
from tracelode.reports.charts.style import MOST_MARKS
from tracelode.reports.pictures import NARROW, WIDE, draw

SPACE = "\u202f"
ROW: dict[str, Any] = {
    "repeat": 1, "count": 1, "before_ns": 0, "siblings": 2, "variation": 0.0, "mean_ns": 1_000_000, "kind": "operation",
}  # fmt: skip


def _rows(*rows: tuple[int, int | None, str, int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by node, parent, name, time in ms, and what is not usual."""
    whole = rows[0][3]
    return [
        ROW | {"node": node, "parent": parent, "name": name, "time_ns": time * 1_000_000, "share": time / whole} | more
        for node, parent, name, time, more in rows
    ]


TREE = _rows(
    (0, None, "device 0", 10, {"kind": "device"}),
    (1, 0, "iterations", 8, {"kind": "iterations", "count": 2}),
    (2, 1, "iteration", 8, {"kind": "iteration", "count": 2, "siblings": 1, "variation": 0.01, "mean_ns": 4_000_000}),
    (3, 2, "gemm: layer", 6, {"kind": "loop", "repeat": 3, "count": 6, "variation": 0.3}),
    (4, 3, "gemm", 6, {"siblings": 1, "count": 6, "variation": 0.3}),
    (5, 2, "adam", 1, {"before_ns": 7_000_000, "count": 2, "variation": 0.6}),
    (6, 0, "outside", 2, {"before_ns": 8_000_000, "variation": None}),
)


def _values(specification: dict[str, Any]) -> list[dict[str, Any]]:
    return specification["data"]["values"]


def _svg(specification: dict[str, Any], width: int) -> str:
    return draw(specification, width=width, label="", name="i", class_="").text


def test_bars_lie_below_what_holds_them() -> None:
    told = [(v["depth"], v["left"], v["right"], v["name"], v["kind"]) for v in _values(icicle(TREE))]
    assert told == [
        (0, 0.0, 8.0, "2× iteration", "varies by less than 5 %"),
        (0, 8.0, 10.0, "outside", "once"),
        (1, 0.0, 6.0, "3× layer", "20 to 50 %"),
        (1, 6.0, 7.0, "others", "less costly ones"),
        (1, 7.0, 8.0, "adam", "more than 50 %"),
    ]


def test_a_bar_says_its_time_and_how_it_varies() -> None:
    tips = [value["tip"] for value in _values(icicle(TREE))]
    assert tips[2] == (
        f"gemm: layer × 3: 6.00{SPACE}ms, 60.0{SPACE}% of busy; 6 × 1.00{SPACE}ms, varies by 30.0{SPACE}%"
    )
    assert tips[1] == f"outside: 2.00{SPACE}ms, 20.0{SPACE}% of busy; 1×"
    assert tips[3] == f"less costly ones: 1.00{SPACE}ms"


def test_the_axis_has_its_unit_and_the_terminal_the_top() -> None:
    specification = icicle(TREE)
    assert specification["layer"][0]["encoding"]["x"]["title"] == "Busy time of the device (ms)"
    assert specification["usermeta"]["terminal"] == {
        "title": "Busy time of the device",
        "labels": ["2× iteration", "outside"],
        "values": [8_000_000, 2_000_000],
    }


def test_narrow_nodes_are_drawn_together() -> None:
    thin = [(at, 0, f"k{at}", 2, {"before_ns": 2_000_000 * (at - 1), "siblings": 1000}) for at in range(1, 1001)]
    specification = icicle(_rows((0, None, "device 0", 2000, {"kind": "device"}), *thin))
    assert [value["name"] for value in _values(specification)] == ["device 0"]


def test_there_are_never_too_many_marks() -> None:
    rows = [(0, None, "device 0", 200, {"kind": "device"})]
    for depth in range(20):
        rows += [
            (1 + 200 * depth + at, 200 * (depth - 1) + 1 + at if depth else 0, "k", 1,
             {"before_ns": 0 if depth else 1_000_000 * at, "siblings": 2}) for at in range(200)
        ]  # fmt: skip
    assert len(_values(icicle(_rows(*rows)))) <= MOST_MARKS


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_names_are_drawn_where_they_fit(width: int) -> None:
    svg = _svg(icicle(TREE), width)
    assert "2× iteration" in svg
    assert ">adam<" in svg or width == NARROW


def test_hostile_names_are_shown_and_not_obeyed() -> None:
    rows = [row | {"name": "<script>\x1b\u202e" + row["name"]} for row in TREE]
    svg = _svg(icicle(rows), WIDE)
    assert "<script>" not in svg
    assert "\u202e" not in svg


def test_no_rows_and_no_time_are_refused() -> None:
    with pytest.raises(ValueError, match="icicle: no rows to draw"):
        icicle([])
    with pytest.raises(ValueError, match="an icicle of no time"):
        icicle([row | {"time_ns": 0} for row in TREE])
    with pytest.raises(ValueError, match="changes: no rows to draw"):
        changes([])


def _changed(node: int, parent: int | None, name: str, before: int, now: int, **more: Any) -> dict[str, Any]:
    row = {"base_time_ns": before, "time_ns": now, "base_count": int(before > 0), "count": int(now > 0)}
    row |= {"base_units": 1, "units": 1, "base_before_ns": 0, "node": node, "parent": parent, "name": name}
    return ROW | row | more


def test_changes_are_coloured_by_what_happened() -> None:
    rows = [
        _changed(0, None, "device 0", 400, 400, kind="device"),
        _changed(1, 0, "same", 100, 101),
        _changed(2, 0, "slower", 100, 130, base_before_ns=100, before_ns=101),
        _changed(3, 0, "gone", 200, 0, base_before_ns=200, before_ns=231),
        _changed(4, 0, "new", 0, 169, base_before_ns=400, before_ns=231),
    ]
    told = [(v["name"], v["kind"], v["left"], v["right"]) for v in _values(changes(rows))]
    assert told == [
        ("same", "as before", 0.0, 100.5),
        ("slower", "slower by more than 20 %", 100.5, 215.5),
        ("gone", "vanished", 215.5, 315.5),
        ("new", "appeared", 315.5, 400.0),
    ]
    assert _values(changes(rows))[1]["tip"] == f"slower: 130{SPACE}ns instead of 100{SPACE}ns per iteration"
    assert _values(changes(rows))[2]["tip"] == f"gone: vanished, 200{SPACE}ns"
    assert _svg(changes(rows), WIDE).startswith("<svg")
