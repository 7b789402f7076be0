import json
from typing import Any

import pytest

from tracelode.reports.charts.delays import delay_by_queue
from tracelode.reports.pictures import NARROW, WIDE, draw


def _row(first: int, last: int, share: float, *delays: float) -> dict[str, Any]:
    return {"queue_from": first, "queue_to": last, "share": share, **dict(zip(("p10_ns", "p50_ns", "p90_ns"), delays))}  # noqa: B905 - zip has three of each


ROWS = [
    _row(0, 0, 0.9, 5_000, 7_000, 20_000),
    _row(5, 9, 0.01, 80_000, 100_000, 400_000),
    _row(1280, 2559, 0.09, 0, 0, 3e6),
]


def test_a_bar_reaches_from_the_10th_to_the_90th_percentile_in_microseconds() -> None:
    values = delay_by_queue(ROWS)["data"]["values"]
    assert [(value["queue"], value["low"], value["middle"], value["high"]) for value in values] == [
        ("0", 5, 7, 20),
        ("5–9", 80, 100, 400),
        ("1\u202f280–2\u202f559", 0.1, 0.1, 3000),
    ]
    assert [value["share"] for value in values] == ["90\u202f%", "", "9\u202f%"]
    assert values[0]["tip"] == (
        "0 queued, 90.0\u202f% of the launches: median 7.00\u202fµs, 5.00\u202fµs to 20.0\u202fµs"
    )


def test_the_axis_has_powers_of_ten_around_all_delays() -> None:
    layer = delay_by_queue(ROWS)["layer"][0]
    assert layer["encoding"]["y"]["axis"]["values"] == [0.1, 1, 10, 100, 1000, 10_000][:6]
    assert layer["encoding"]["y"]["scale"]["type"] == "log"
    alone = delay_by_queue([_row(0, 0, 1.0, 10_000, 10_000, 10_000)])["layer"][0]
    assert alone["encoding"]["y"]["axis"]["values"] == [10, 100]


def test_a_terminal_shows_the_medians() -> None:
    assert delay_by_queue(ROWS)["usermeta"]["terminal"] == {
        "title": "Median delay by operations queued at the launch",
        "labels": ["0", "5–9", "1\u202f280–2\u202f559"],
        "values": [7_000, 100_000, 0],
    }


def test_it_is_plain_json_and_drawn_at_both_widths() -> None:
    specification = delay_by_queue(ROWS)
    assert json.loads(json.dumps(specification)) == specification
    for width in (WIDE, NARROW):
        drawn = draw(specification, width=width, label="x", name="a", class_="wide").text
        assert "Delay (µs, logarithmic)" in drawn
        assert "Operations queued on the device at the launch" in drawn


def test_too_many_lengths_and_none_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        delay_by_queue([])
    with pytest.raises(ValueError, match="too many"):
        delay_by_queue([_row(at, at, 0.0, 1, 1, 1) for at in range(2000)])
