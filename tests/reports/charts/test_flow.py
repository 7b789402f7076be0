from typing import Any

import pytest

from tracelode.reports.charts.flow import flow
from tracelode.reports.pictures import NARROW, WIDE, draw

SPACE = "\u202f"
ROWS: list[dict[str, Any]] = [
    {"step": 1, "name": "read", "repeat": 1, "nodes": 1, "time_ns": 1e6, "inside_ns": 0.0, "before_ns": 5e5,
     "cause": "host"},
    {"step": 2, "name": "layer", "repeat": 4, "nodes": 1, "time_ns": 2e6, "inside_ns": 1e6, "before_ns": 0.0,
     "cause": None},
]  # fmt: skip


def test_a_step_has_its_times_and_the_wait_before_it() -> None:
    specification = flow(ROWS)
    assert specification["data"]["values"] == [
        {
            "place": 1,
            "name": f"read · 1.00{SPACE}ms",
            "label": "read",
            "short": f"read · 1.00{SPACE}ms",
            "time": 1.0,
            "end": 1.0,
            "wait": f"↓ idle 500{SPACE}µs, host",
            "tip": f"read · 1.00{SPACE}ms; before it idle 500{SPACE}µs, host",
        },
        {
            "place": 2,
            "name": f"layer × 4 · 2.00{SPACE}ms + 1.00{SPACE}ms idle",
            "label": "layer × 4",
            "short": f"layer × 4 · 2.00{SPACE}ms",
            "time": 2.0,
            "end": 3.0,
            "wait": "↓",
            "tip": f"layer × 4 · 2.00{SPACE}ms + 1.00{SPACE}ms idle; before it no wait",
        },
    ]
    assert specification["layer"][0]["encoding"]["x"]["title"] == "Time in an iteration (ms), mean"
    assert specification["usermeta"]["terminal"]["values"] == [1e6, 2e6]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_is_drawn_at_both_widths(width: int) -> None:
    svg = draw(flow(ROWS), width=width, label="", name="f", class_="").text
    assert "↓ idle" in svg
    assert "layer × 4" in svg


def test_hostile_names_are_shown_and_not_obeyed() -> None:
    rows = [row | {"name": "<b>\u202e", "cause": "\x1b"} for row in ROWS]
    svg = draw(flow(rows), width=WIDE, label="", name="f", class_="").text
    assert "<b>" not in svg
    assert "\u202e" not in svg


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="flow: no rows to draw"):
        flow([])
