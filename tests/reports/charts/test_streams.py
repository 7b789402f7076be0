import pytest

from tracelode.reports.charts.streams import MOST, busy_streams
from tracelode.reports.pictures import NARROW, WIDE, draw

SPACE = "\u202f"


def test_bars_are_the_time_by_the_number_of_busy_streams_over_all_devices() -> None:
    rows = [{"streams": 0, "time_ns": 500}, {"streams": 1, "time_ns": 4000}, {"streams": 3, "time_ns": 250}]
    specification = busy_streams([*rows, {"streams": 3, "time_ns": 250}])
    assert specification["data"]["values"] == [
        {"streams": "0", "time": 0.5, "state": "idle", "text": f"10.0{SPACE}%", "tip": f"0 streams busy: 500{SPACE}ns"},
        {"streams": "1", "time": 4, "state": "busy", "text": f"80.0{SPACE}%", "tip": f"1 stream busy: 4.00{SPACE}µs"},
        {"streams": "2", "time": 0, "state": "busy", "text": f"0.0{SPACE}%", "tip": f"2 streams busy: 0{SPACE}ns"},
        {"streams": "3", "time": 0.5, "state": "busy", "text": f"10.0{SPACE}%", "tip": f"3 streams busy: 500{SPACE}ns"},
    ]
    bar = specification["layer"][0]["encoding"]
    assert (bar["x"]["title"], bar["y"]["title"]) == ("Streams busy at once", "Time (µs)")
    assert specification["usermeta"]["terminal"] == {
        "title": "Time by streams busy at once",
        "labels": ["0", "1", "2", "3"],
        "values": [500, 4000, 0, 500],
    }


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_many_streams_share_the_last_bar(width: int) -> None:
    specification = busy_streams([{"streams": at, "time_ns": 1} for at in range(40)])
    last = specification["data"]["values"][-1]
    assert (last["streams"], last["time"]) == (f"{MOST} or more", 40 - MOST)
    assert draw(specification, width=width, label="", name="b", class_="").text.startswith("<svg")


def test_without_rows_nothing_is_drawn() -> None:
    with pytest.raises(ValueError, match="no rows"):
        busy_streams([])


def test_a_span_without_length_is_drawn() -> None:
    (value,) = busy_streams([{"streams": 0, "time_ns": 0}])["data"]["values"]
    assert (value["time"], value["text"]) == (0, f"0.0{SPACE}%")
