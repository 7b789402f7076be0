from typing import Any

import pytest

from tracelode.reports.charts.migrations import MOST_STACKS, moved_bytes
from tracelode.reports.charts.oversubscription import oversubscription


def _row(iteration: int, bytes_: int, kind: str | None = "HtoD", cause: str | None = "coherence") -> dict[str, Any]:
    return {"iteration": iteration, "kind": kind, "cause": cause, "bytes": bytes_}


def test_bytes_are_stacked_by_direction_and_cause() -> None:
    values = moved_bytes([_row(0, 2048), _row(0, 1024, "DtoH"), _row(1, 0, None, None)])["data"]["values"]
    assert [(value["why"], value["time"], value["left"], value["right"]) for value in values] == [
        ("HtoD, coherence", 2.0, -0.5, 0.5),
        ("DtoH, coherence", 1.0, -0.5, 0.5),
    ]


def test_a_terminal_is_told_that_they_are_bytes() -> None:
    told = moved_bytes([_row(0, 2048), _row(0, 1024, "DtoH")])["usermeta"]["terminal"]
    assert (told["unit"], told["values"]) == ("bytes", [2048, 1024])


def test_of_many_iterations_the_mean_of_neighbours_is_drawn() -> None:
    specification = moved_bytes([_row(at, 1024) for at in range(2 * MOST_STACKS)])
    values = specification["data"]["values"]
    assert len(values) == MOST_STACKS
    assert {value["time"] for value in values} == {1.0}
    assert specification["encoding"]["y"]["title"] == "Moved (KiB), mean of 2 each"


def test_the_axis_reaches_over_iterations_without_moves() -> None:
    specification = moved_bytes([_row(0, 1), *(_row(at, 0, None, None) for at in range(1, 10))])
    assert specification["encoding"]["x"]["scale"]["domain"] == [-0.5, 9.5]


def test_more_causes_than_colours_are_one() -> None:
    values = moved_bytes([_row(0, 1, cause=f"cause {at}") for at in range(12)])["data"]["values"]
    assert len(values) == 8
    assert [value["time"] for value in values if value["why"] == "other"] == [5]


def test_no_moves_are_refused() -> None:
    with pytest.raises(ValueError, match="moved_bytes: no rows to draw"):
        moved_bytes([_row(0, 0, None, None)])


def test_simulated_time_is_a_line_for_each_policy() -> None:
    rows = [
        {"oversubscription": factor, "policy": policy, "most_ns": time}
        for policy, time in (("on demand", 2_000_000), ("object plan", 1_000_000))
        for factor in (1.0, 3.0)
    ]
    specification = oversubscription(rows)
    values = specification["data"]["values"]
    assert [(value["factor"], value["policy"], value["time"]) for value in values] == [
        (1.0, "on demand", 2.0),
        (3.0, "on demand", 2.0),
        (1.0, "object plan", 1.0),
        (3.0, "object plan", 1.0),
    ]
    assert specification["encoding"]["x"]["title"] == "Oversubscription: footprint over what the device holds"
    assert specification["encoding"]["x"]["axis"] == {"values": [1.0, 3.0], "labelExpr": "datum.value + '×'"}
    assert specification["usermeta"]["terminal"] == {
        "title": "Simulated time, no prefetch hidden; × is the oversubscription",
        "labels": ["on demand, 1×", "on demand, 3×", "object plan, 1×", "object plan, 3×"],
        "values": [2_000_000, 2_000_000, 1_000_000, 1_000_000],
    }
    with pytest.raises(ValueError, match="oversubscription: no rows to draw"):
        oversubscription([])
