from typing import Any

import pytest

from tracelode.reports.charts.ranks import iteration_boxes, lateness_matrix
from tracelode.reports.charts.style import MOST_MARKS


def _box(place: int, middle: int) -> dict[str, Any]:
    times = {"least_ns": middle - 20_000, "p25_ns": middle - 10_000, "p50_ns": middle, "p75_ns": middle + 10_000}
    return {"place": place, "label": str(place), "iterations": 9, "most_ns": middle + 90_000} | times


def _field(place: int, step: int, late: int) -> dict[str, Any]:
    return {"place": place, "label": str(place), "step": step, "late_ns": late, "others_ns": 1_000_000}


def test_a_box_holds_the_quartiles_of_a_rank_in_one_unit() -> None:
    drawn = iteration_boxes([_box(0, 2_000_000), _box(1, 3_000_000)])
    assert drawn["data"]["values"][1] == {
        "rank": "1",
        "least": 2.98,
        "p25": 2.99,
        "p50": 3.0,
        "p75": 3.01,
        "most": 3.09,
        "tip": "rank 1: 9 iterations, median 3.00\u202fms, 2.98\u202fms to 3.09\u202fms",
    }
    terminal = drawn["usermeta"]["terminal"]
    assert (terminal["labels"], terminal["values"]) == (["rank 0", "rank 1"], [2_000_000, 3_000_000])


def test_of_too_many_ranks_the_slowest_are_drawn_in_their_order() -> None:
    drawn = iteration_boxes([_box(place, 1_000_000 + (place % 100) * 1000) for place in range(200)])
    ranks = [int(value["rank"]) for value in drawn["data"]["values"]]
    assert len(ranks) == 64
    assert ranks == sorted(ranks)
    assert min(rank % 100 for rank in ranks) == 68
    assert "64 of 200" in str(drawn["layer"][0]["encoding"]["y"]["title"])


def test_a_field_is_as_strong_as_its_rank_is_late() -> None:
    drawn = lateness_matrix([_field(0, 0, -30_000), _field(0, 1, 0), _field(1, 0, 30_000), _field(1, 1, 400_000)])
    values = drawn["data"]["values"]
    assert [(v["rank"], v["left"], v["right"], v["late"]) for v in values] == [
        ("0", -0.5, 0.5, 0),
        ("0", 0.5, 1.5, 0),
        ("1", -0.5, 0.5, 30),
        ("1", 0.5, 1.5, 400),
    ]
    assert values[3]["tip"] == "rank 1, step 1: 400\u202fµs late"
    assert drawn["encoding"]["opacity"]["scale"]["domain"] == [0, 400]


def test_lateness_that_is_nothing_beside_the_iteration_is_faint() -> None:
    drawn = lateness_matrix([_field(0, 0, 300), _field(1, 0, -300)])
    assert drawn["encoding"]["opacity"]["scale"]["domain"] == [0, 100]  # µs: a tenth of the others' 1 ms


def test_neighbouring_steps_are_put_together_where_there_are_too_many() -> None:
    rows = [_field(place, step, 10 * place) for place in range(64) for step in range(500)]
    drawn = lateness_matrix(rows)
    assert len(drawn["data"]["values"]) <= MOST_MARKS
    assert "median of 17 each" in drawn["encoding"]["opacity"]["title"]
    last = max(value["right"] for value in drawn["data"]["values"])
    assert last == 499.5


def test_hostile_labels_are_made_visible_and_no_rows_are_refused() -> None:
    row = _box(0, 1_000_000) | {"label": "a\x1b[2J"}
    assert iteration_boxes([row])["data"]["values"][0]["rank"] == "a␛[2J"
    for draw in (iteration_boxes, lateness_matrix):
        with pytest.raises(ValueError, match="no rows"):
            draw([])
