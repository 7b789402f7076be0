from typing import Any

import pytest

from tracelode.reports.charts.heat import heat
from tracelode.reports.pictures import NARROW, WIDE, draw


def _rows(*ratios: float | None, name: str = "gemm") -> list[dict[str, Any]]:
    """Two places of as many iterations as there are ratios: the first as usual, the second with these ratios."""
    rows: list[dict[str, Any]] = []
    for iteration, ratio in enumerate(ratios):
        one = {"name": name, "iteration": iteration, "last_iteration": iteration, "longest_iteration": iteration}
        usual = {"place": 0, "first_position": 0, "last_position": 4, "time_ns": 10, "usual_ns": 10, "ratio": 1.0}
        time = round(10 * (ratio or 0))
        other = {"place": 1, "first_position": 5, "last_position": 9, "time_ns": time, "usual_ns": 10, "ratio": ratio}
        rows += [one | usual, one | other]
    return rows


def test_cells_are_coloured_by_their_distance_from_usual() -> None:
    specification = heat(_rows(0.5, 0.9, 1.0, 1.05, 1.2, 2.0, 40.0, None))
    kinds = [value["kind"] for value in specification["data"]["values"] if value["first"] == 5]
    assert kinds == [
        "less than 0.8 times the median",
        "0.8 to 0.97 times",
        "as usual",
        "1.03 to 1.1 times",
        "1.1 to 1.5 times",
        "1.5 to 3 times",
        "more than 3 times",
        "as usual",
    ]
    assert specification["encoding"]["x"]["title"] == "Iteration"
    assert specification["usermeta"]["terminal"]["values"] == [1.0, 1.0, 1.0, 1.05, 1.2, 2.0, 40.0, 1.0]


def test_a_cell_says_where_it_is_and_how_long_it_took() -> None:
    told = [value["tip"] for value in heat(_rows(2.0))["data"]["values"]]
    assert told[1] == "operations 5 to 9 (gemm), iteration 0: 20\u202fns, 2 times the median"


def test_groups_of_iterations_are_said_to_be_such() -> None:
    rows = [row | {"last_iteration": row["iteration"] + 1} for row in _rows(1.0, 2.0)]
    assert heat(rows)["encoding"]["x"]["title"] == "Iteration, several in a row: the longest"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_is_drawn_at_both_widths_whatever_the_names(width: int) -> None:
    svg = draw(heat(_rows(1.0, 2.0, name="<i>\u202e\x1b")), width=width, label="", name="h", class_="").text
    assert svg.startswith("<svg")
    assert "<i>" not in svg
    assert "\u202e" not in svg


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="heat: no rows to draw"):
        heat([])
