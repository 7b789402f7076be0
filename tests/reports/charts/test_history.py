from typing import Any

import pytest

from tracelode.reports.charts.history import MOST_RUNS, history
from tracelode.reports.pictures import WIDE, draw

SPACE = "\u202f"


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "run": f"night-{at}",
            "date": "2026-02-01",
            "value": (100 + at) * 1e6,
            "role": "beyond the limits" if at == count - 1 else "run",
            "low": 97e6 if at else None,
            "high": 103e6 if at else None,
            "changed": at == 2,
        }
        for at in range(count)
    ]


def test_each_run_is_a_mark_with_its_limits_and_a_change_is_a_line_before_it() -> None:
    found = history(rows(3), title="Median iteration", unit="ns")
    assert found["data"]["values"] == [
        {"kind": "run", "place": 1, "value": 100.0, "role": "run",
         "tip": f"night-0, 2026-02-01: 100{SPACE}ms, run"},
        {"kind": "limits", "place": 2, "low": 97.0, "high": 103.0},
        {"kind": "run", "place": 2, "value": 101.0, "role": "run",
         "tip": f"night-1, 2026-02-01: 101{SPACE}ms, run"},
        {"kind": "limits", "place": 3, "low": 97.0, "high": 103.0},
        {"kind": "change", "place": 2.5, "tip": "the series changed at night-2, 2026-02-01"},
        {"kind": "run", "place": 3, "value": 102.0, "role": "beyond the limits",
         "tip": f"night-2, 2026-02-01: 102{SPACE}ms, beyond the limits"},
    ]  # fmt: skip
    titles = [layer["encoding"][axis]["title"] for layer in found["layer"][-1:] for axis in "xy"]
    assert titles == ["Run, in order of time", "Median iteration (ms)"]
    assert found["usermeta"]["terminal"] == {
        "title": "Median iteration",
        "unit": "ns",
        "values": [100e6, 101e6, 102e6],
    }
    assert draw(found, width=WIDE, label="", name="b", class_="").text.startswith("<svg")


@pytest.mark.parametrize(("unit", "value", "drawn"), [("share", 0.5, 50.0), ("count", 5.0, 5.0), ("bytes", 2048, 2.0)])
def test_values_are_drawn_in_a_unit_that_reads_well(unit: str, value: float, drawn: float) -> None:
    row = rows(1)[0] | {"value": value}
    assert history([row], title="x", unit=unit)["data"]["values"][0]["value"] == drawn


def test_nothing_but_zeros_is_drawn() -> None:
    found = history([row | {"value": 0.0} for row in rows(4)], title="x", unit="ns")
    assert draw(found, width=WIDE, label="", name="b", class_="").text.startswith("<svg")


def test_of_many_runs_the_latest_are_drawn_with_their_numbers() -> None:
    found = history(rows(MOST_RUNS + 50), title="x", unit="ns")["data"]["values"]
    places = [value["place"] for value in found if value["kind"] == "run"]
    assert (len(places), places[0], places[-1]) == (MOST_RUNS, 51, MOST_RUNS + 50)


def test_names_are_shown_not_obeyed() -> None:
    row = rows(1)[0] | {"run": "a\x1b[2J"}
    assert "\x1b" not in history([row], title="x", unit="ns")["data"]["values"][0]["tip"]


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        history([], title="x", unit="ns")
