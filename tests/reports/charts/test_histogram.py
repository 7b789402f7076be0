import pytest

from tracelode.reports.charts.histogram import size_histogram
from tracelode.reports.charts.style import Specification
from tracelode.reports.pictures import NARROW, WIDE, draw
from tracelode.reports.report import Unit

WORDS: dict[str, str] = {"x": "Size, from", "bars": "bytes", "ticks": "allocations"}


def _made(*bins: tuple[int, float, float], unit: Unit = "bytes") -> Specification:
    return size_histogram(bins, unit=unit, **WORDS)


def _drawn(specification: Specification, width: int = WIDE) -> str:
    return draw(specification, width=width, label="a", name="b", class_="c").text


def test_amounts_are_shares_and_empty_bins_are_there() -> None:
    found = _made((1024, 30, 3), (4096, 10, 1))
    told = [(value["size"], value["bar"], value["tick"]) for value in found["data"]["values"]]
    assert told == [("1\u202fKiB", 75.0, 75.0), ("2\u202fKiB", 0.0, 0.0), ("4\u202fKiB", 25.0, 25.0)]
    assert found["data"]["values"][0]["tip"] == ("From 1\u202fKiB: 75.0\u202f% of bytes, 75.0\u202f% of allocations")
    assert found["usermeta"]["terminal"] == {
        "title": "Share of bytes by size, from",
        "unit": "share",
        "labels": ["1\u202fKiB", "2\u202fKiB", "4\u202fKiB"],
        "values": [0.75, 0.0, 0.25],
    }


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_axes_say_what_is_drawn(width: int) -> None:
    text = _drawn(_made((0, 1, 1), (8, 0, 2), unit="count"), width)
    assert "Size, from" in text
    assert "Share (%): bars bytes, lines allocations" in text


def test_nothing_stands_before_the_smallest_size() -> None:
    assert [value["size"] for value in _made((0, 0, 5), (2, 1, 1), unit="count")["data"]["values"]] == ["0", "2"]
    assert [value["size"] for value in _made((0, 0, 5))["data"]["values"]] == ["0\u202fB"]


def test_an_amount_that_is_nothing_is_not_drawn() -> None:
    found = _made((1, 0, 3), (2, 0, 1), unit="count")
    assert "Share of allocations (%)" in _drawn(found)
    assert found["usermeta"]["terminal"]["values"] == [0.75, 0.25]
    assert found["data"]["values"][0]["tip"] == "From 1: 75.0\u202f% of allocations"


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows to draw"):
        _made()
    with pytest.raises(ValueError, match="nothing in any bin"):
        _made((8, 0, 0))
