import json
from typing import Any

import pytest

from tracelode.reports.charts.categories import category_bars
from tracelode.reports.pictures import NARROW, WIDE, draw


def _rows(count: int) -> list[dict[str, Any]]:
    return [
        {"category": f"kind{at}", "total_ns": 1000 * (count - at), "share": 1 / count, "names": at + 1}
        for at in range(count)
    ]


def test_each_category_is_a_bar_with_its_time_share_and_kernels() -> None:
    specification = category_bars(_rows(2))
    values = specification["data"]["values"]
    assert [value["name"] for value in values] == ["kind0", "kind1"]
    assert [value["text"] for value in values] == [
        "2.00\u202fµs · 50.0\u202f% · 1 name",
        "1.00\u202fµs · 50.0\u202f% · 2 names",
    ]
    assert specification["usermeta"]["terminal"] == {
        "title": "Time",
        "labels": ["kind0", "kind1"],
        "values": [2000, 1000],
    }


def test_what_takes_least_is_one_bar() -> None:
    specification = category_bars(_rows(15))
    labels = specification["usermeta"]["terminal"]["labels"]
    assert labels[-1] == "4 more"
    assert len(labels) == 12
    assert sum(specification["usermeta"]["terminal"]["values"]) == sum(row["total_ns"] for row in _rows(15))


def test_it_is_plain_json_and_drawn_at_both_widths() -> None:
    rows = [*_rows(3), {"category": "<b>\u202ex", "total_ns": 0, "share": None, "names": 1}]
    specification = category_bars(rows)
    assert json.loads(json.dumps(specification)) == specification
    for width in (WIDE, NARROW):
        drawn = draw(specification, width=width, label="x", name="a", class_="wide").text
        assert "Time (µs)" in drawn
        assert "<b>" not in drawn
        assert "\u202e" not in drawn


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        category_bars([])
