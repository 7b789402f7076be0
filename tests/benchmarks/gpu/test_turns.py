from typing import Any

import pytest

from benchmarks.gpu.running import LeftOut
from benchmarks.gpu.turns import compare, in_turns, table


def _turns(tools: list[str], failing: str = "", enough: int = 99) -> tuple[list[str], dict[str, Any]]:
    """The runs in their order, and what was told of each tool; a run's result is its number."""
    runs: list[str] = []
    left = iter(range(enough, -1, -1))

    def start(name: str) -> int:
        runs.append(name)
        if name == failing:
            raise LeftOut("it fell over")
        return len(runs) - 1

    told = dict(in_turns(tools, start, lambda: next(left) > 0))
    return runs, told


def test_each_tool_runs_twice_between_two_runs_without_one() -> None:
    runs, told = _turns(["a", "b"])
    assert runs == ["no tool", "a", "a", "no tool", "b", "b", "no tool"]
    assert told == {"a": (0, 1, 2, 3), "b": (3, 4, 5, 6)}


def test_a_tool_under_which_the_program_fails_leaves_the_others_their_turns() -> None:
    runs, told = _turns(["a", "b", "c"], failing="b")
    assert runs == ["no tool", "a", "a", "no tool", "b", "c", "c", "no tool"]
    assert told == {"a": (0, 1, 2, 3), "b": "it fell over", "c": (3, 5, 6, 7)}


def test_tools_for_which_there_is_no_time_do_not_run() -> None:
    runs, told = _turns(["a", "b"], enough=1)
    assert runs == ["no tool", "a", "a", "no tool"]
    assert told == {"a": (0, 1, 2, 3), "b": "there was no time for it"}


def test_a_program_that_fails_without_a_tool_ends_the_turns() -> None:
    with pytest.raises(LeftOut, match="it fell over"):
        _turns(["a"], failing="no tool")


def test_a_machine_that_slows_down_evenly_counts_for_nothing() -> None:
    # Each run takes 1 longer than the one before; the tool adds 2.
    assert compare(100, 103, 104, 103) == {
        "base": 101.5,
        "with_tool": 103.5,
        "added": 2,
        "added_percent": 1.9704,
        "drift": 3,
        "drift_percent": 2.9557,
        "spread": 1,
        "seen": False,
    }


def test_a_cost_is_seen_where_it_is_more_than_drift_and_spread() -> None:
    assert compare(10, 12, 12.5, 10.5)["seen"] is True
    assert compare(10, 10.1, 10.9, 10.2)["seen"] is False
    assert compare(10, 8, 8.5, 10.5)["added"] == -2


def test_nothing_is_a_percentage_of_nothing() -> None:
    assert compare(0, 1, 1, 0)["added_percent"] is None


def test_figures_are_compared_section_by_section_and_told_per_launch() -> None:
    def run(step: float, other: float) -> dict[str, dict[str, dict[str, float]]]:
        return {"eager": {"step_us": {"median": step}}, "graph": {"step_us": {"median": other}}}

    runs = [run(1000, 50), run(1100, 51), run(1120, 53), {"eager": {"step_us": {"median": 1020}}}]
    found = table(runs, ["step_us"], lambda section: 50 if section == "eager" else None)
    assert list(found) == ["eager"]
    assert found["eager"]["step_us"]["base"] == 1010
    assert found["eager"]["step_us"]["added"] == 100
    assert found["eager"]["step_us"]["added_us_per_launch"] == 2
    assert "added_us_per_launch" not in table(runs, ["step_us"])["eager"]["step_us"]
