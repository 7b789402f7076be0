from typing import Any

import pytest

from tracelode.reports.charts.lifetimes import lifetimes
from tracelode.reports.pictures import NARROW, WIDE, draw


def _row(from_ns: int | None, from_bytes: int, bytes_: int, peak: int) -> dict[str, Any]:
    return {"from_ns": from_ns, "from_bytes": from_bytes, "allocations": 3, "bytes": bytes_, "peak_bytes": peak}


ROWS = [_row(1000, 512, 1800, 600), _row(100_000, 2048, 6400, 0), _row(None, 512, 2000, 2000)]


def test_bubbles_have_the_bytes_of_all_and_of_those_at_the_peak() -> None:
    found = lifetimes(ROWS)
    told = [(value["life"], value["size"], value["bytes"], value["peak"]) for value in found["data"]["values"]]
    assert told == [
        ("1\u202fµs", "512\u202fB", 1800, 600),
        ("100\u202fµs", "2\u202fKiB", 6400, 0),
        ("beyond the recording", "512\u202fB", 2000, 2000),
    ]
    assert found["data"]["values"][0]["tip"] == (
        "3 of at least 512\u202fB lived at least 1\u202fµs: 1.76\u202fKiB in sum, 600\u202fB at the peak"
    )
    assert found["data"]["values"][2]["tip"].startswith("3 of at least 512\u202fB live beyond the recording: ")


def test_lifetimes_and_sizes_between_have_a_place_too() -> None:
    found = lifetimes(ROWS)
    domains = [found["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
    assert domains == [
        ["1\u202fµs", "10\u202fµs", "100\u202fµs", "beyond the recording"],
        ["2\u202fKiB", "1\u202fKiB", "512\u202fB"],
    ]
    assert found["usermeta"]["terminal"]["labels"] == domains[0]
    assert found["usermeta"]["terminal"]["values"] == [600, 0, 0, 2000]


def test_what_was_not_seen_stands_in_the_sums_alone() -> None:
    unseen = {"from_ns": None, "from_bytes": None, "allocations": None, "bytes": None, "peak_bytes": 70}
    found = lifetimes([_row(10, 8, 9, 9), unseen])
    assert len(found["data"]["values"]) == 1
    assert found["usermeta"]["terminal"]["labels"] == ["10\u202fns", "beyond the recording"]
    assert found["usermeta"]["terminal"]["values"] == [9, 70]


def test_no_time_and_no_size_stand_at_the_ends() -> None:
    found = lifetimes([_row(0, 0, 0, 0), _row(10, 1, 1, 1)])
    domains = [found["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
    assert domains == [["0\u202fns", "10\u202fns"], ["1\u202fB", "0\u202fB"]]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_axes_say_what_is_drawn(width: int) -> None:
    text = draw(lifetimes(ROWS), width=width, label="a", name="b", class_="c").text
    for words in ("Lived at least", "Size, from", "beyond the recording"):
        assert words in text


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows to draw"):
        lifetimes([])
    with pytest.raises(ValueError, match="no bytes to draw"):
        lifetimes([_row(10, 0, 0, 0)])
