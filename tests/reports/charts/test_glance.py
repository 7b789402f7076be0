from typing import Any

import pytest

from tracelode.reports.charts.glance import MOST_RUNS, glance
from tracelode.reports.pictures import NARROW, WIDE, draw


def row(metric: str, values: list[float], **more: Any) -> dict[str, Any]:
    told = {"metric": metric, "verdict": "neutral", "said": "neutral", "changes": [], "judged": True}
    return told | {"runs": list(enumerate(values, start=1))} | more


def levels(found: dict[str, Any], metric: str) -> list[float]:
    return [value["level"] for value in found["data"]["values"] if value["kind"] == "run" and value["metric"] == metric]


def test_each_metric_has_its_line_around_its_own_middle() -> None:
    found = glance([row("a", [0.0, 0.05, -0.05]), row("b", [0.0, 0.1, 5.0])])
    assert levels(found, "a") == pytest.approx([1.35, 1.5, 1.2])
    assert levels(found, "b") == pytest.approx([0.35, 0.65, 0.65])  # what is beyond 10 % is drawn there
    said = [value["said"] for value in found["data"]["values"] if value["kind"] == "zero"]
    assert said == ["a: neutral", "b: neutral"]
    for width in (WIDE, NARROW):
        assert draw(found, width=width, label="", name="b", class_="").text.startswith("<svg")


def test_a_change_of_the_history_is_a_line_before_its_run() -> None:
    found = glance([row("a", [0.0, 0.05, -0.05], changes=[3], verdict="regression")])
    (change,) = [value for value in found["data"]["values"] if value["kind"] == "change"]
    assert (change["place"], change["tip"]) == (2.5, "a changed with run 3")


def test_of_many_runs_the_latest_are_drawn() -> None:
    found = glance([row("a", [0.0] * (MOST_RUNS + 30)), row("b", [0.0] * 3)])
    assert len(levels(found, "a")) == MOST_RUNS
    assert levels(found, "b") == []  # its runs are all earlier


def test_of_a_metric_without_a_baseline_no_change_is_told() -> None:
    told = glance([row("a", [0.0, 0.05]), row("b", [0.0, 0.0], judged=False)])["usermeta"]["terminal"]
    assert (told["labels"], told["values"]) == (["a"], [0.05])


def test_one_run_is_drawn_and_no_rows_are_refused() -> None:
    assert draw(glance([row("a", [0.0])]), width=WIDE, label="", name="b", class_="").text.startswith("<svg")
    with pytest.raises(ValueError, match="no rows"):
        glance([])
