from typing import Any

import pytest

from tracelode.reports.charts.waves import TENTHS, last_waves
from tracelode.reports.pictures import NARROW, WIDE, draw

ROWS: list[dict[str, Any]] = [
    {"above_waves": 0, "waves": "up to 1 wave", "fill_from": 0.2, "time_ns": 200, "launches": 1},
    {"above_waves": 1, "waves": "1 to 2 waves", "fill_from": 0.30000000000000004, "time_ns": 100, "launches": 1},
    {"above_waves": 8, "waves": "above 8 waves", "fill_from": 0.2, "time_ns": 100, "launches": 2},
]


def test_bars_are_shares_by_tenths_stacked_by_waves() -> None:
    found = last_waves(ROWS)
    told = [(value["fill"], value["waves"], value["time"]) for value in found["data"]["values"]]
    assert told == [
        ("20\u202f–\u202f30", "up to 1 wave", 50.0),
        ("20\u202f–\u202f30", "above 8 waves", 25.0),
        ("30\u202f–\u202f40", "1 to 2 waves", 25.0),
    ]
    terminal = found["usermeta"]["terminal"]
    assert terminal["labels"] == TENTHS
    assert terminal["values"] == [0, 0, 0.75, 0.25, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_axes_say_what_is_drawn(width: int) -> None:
    text = draw(last_waves(ROWS), width=width, label="a", name="b", class_="c").text
    for words in ("Device filled by the last wave (%)", "Share of kernel time (%)", "up to 1 wave"):
        assert words in text


def test_without_times_the_launches_are_counted() -> None:
    found = last_waves(ROWS, by="launches")
    assert [value["time"] for value in found["data"]["values"]] == [25.0, 50.0, 25.0]
    assert "of launches" in found["usermeta"]["terminal"]["title"]


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows to draw"):
        last_waves([])
    with pytest.raises(ValueError, match="nothing to divide"):
        last_waves([ROWS[0] | {"time_ns": 0}])
