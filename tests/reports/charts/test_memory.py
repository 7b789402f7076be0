from typing import Any

import pytest

from tracelode.reports.charts.frequency import MOST_POINTS, rank_plot
from tracelode.reports.charts.memory import difference, set_against_footprint, two_curves, usage
from tracelode.reports.charts.phases import phase_bars
from tracelode.reports.pictures import NARROW, WIDE, draw


def _stretch(place: int, position: float, until: float, low: int, high: int, last: int, stage: str) -> dict[str, Any]:
    sizes = {"low_bytes": low, "high_bytes": high, "last_bytes": last}
    return {"place": place, "position": position, "until": until, **sizes, "stage": stage, "last_stage": stage}


STRETCHES = [
    _stretch(0, 0.0, 2.0, 0, 1024, 1024, "ramp-up"),
    _stretch(1, 2.0, 5.0, 2048, 4096, 2048, "peak"),
    _stretch(2, 5.0, 6.0, 0, 1024, 0, "ramp-down"),
]
BOTH = [
    {"position": 0.0, "base_bytes": 2048, "bytes": 1024, "difference_bytes": -1024},
    {"position": 1.0, "base_bytes": None, "bytes": 4096, "difference_bytes": None},
]
PARTS = [
    {
        "name": "Conv2d",
        "work_ns": 300,
        "share": 0.75,
        "forward_ns": 100,
        "backward_ns": 200,
        "optimizer_ns": 0,
        "other_ns": 0,
    },
    {
        "name": "<b>",
        "work_ns": 100,
        "share": 0.25,
        "forward_ns": 0,
        "backward_ns": 0,
        "optimizer_ns": 0,
        "other_ns": 100,
    },
]


def _drawn(specification: object, width: int = WIDE) -> str:
    return draw(specification, width=width, label="a", name="b", class_="c").text  # type: ignore[arg-type] # JSON


def test_the_curve_marks_its_peak_and_its_stages() -> None:
    found = usage(STRETCHES, x="Number of the change")
    peak = found["layer"][-1]["data"]["values"]
    assert [(one["left"], one["high"], one["peak"]) for one in peak] == [(2.0, 4.0, "Peak: 4.00\u202fKiB")]
    assert [value["right"] for value in found["data"]["values"]] == [2.0, 5.0, 6.0]
    text = _drawn(found)
    for word in ("ramp-up", "peak", "ramp-down", "Allocated (KiB)", "Number of the change"):
        assert word in text


def test_where_nothing_changes_the_last_level_is_held() -> None:
    # up to 4 KiB and back to 1 KiB within place 0, nothing in places 1 to 8, 2 KiB from place 9 on
    rows = [_stretch(0, 0.0, 1.0, 0, 4096, 1024, "peak"), _stretch(9, 9.5, 10.0, 2048, 2048, 2048, "ramp-down")]
    values = usage(rows, x="Number of the change")["data"]["values"]
    assert [(value["left"], value["right"], value["low"], value["high"]) for value in values] == [
        (0.0, 1.0, 0.0, 4.0), (1.0, 9.5, 1.0, 1.0), (9.5, 10.0, 2.0, 2.0)
    ]  # fmt: skip


def test_curves_by_time_are_shown_in_the_unit_that_reads_best() -> None:
    rows = [row | {key: row[key] * 1e6 for key in ("position", "until")} for row in STRETCHES]
    assert "Time (ms)" in _drawn(usage(rows, x="Time", unit_x="ns"), NARROW)


def test_two_curves_end_where_they_end() -> None:
    found = two_curves(BOTH, base="one", other="two", x="Number of the change")
    assert [len(layer["data"]["values"]) for layer in found["layer"]] == [1, 2]
    assert found["usermeta"]["terminal"]["values"] == [2048, 4096]
    assert "one" in _drawn(found)
    same = two_curves(BOTH, base="a.json", other="a.json", x="x")
    assert same["usermeta"]["terminal"]["labels"] == ["a.json (base)", "a.json (compared)"]


def test_the_difference_is_of_what_both_have() -> None:
    found = difference(BOTH, x="Number of the change")
    assert [value["bytes"] for value in found["data"]["values"]] == [-1.0]
    assert "Difference (KiB)" in _drawn(found)


def test_working_sets_of_nothing_are_not_drawn() -> None:
    rows = [
        {"footprint_bytes": 4096, "bytes": 1024, "launches": 3, "kernel": "a"},
        {"footprint_bytes": 4096, "bytes": 0, "launches": 1, "kernel": "b"},
    ]
    found = set_against_footprint(rows)
    assert [(value["footprint"], value["set"]) for value in found["data"]["values"]] == [(4096, 1024)]
    text = _drawn(found)
    for word in ("Working set (logarithmic)", "1\u202fKiB", "8\u202fKiB"):
        assert word in text


def test_sizes_of_working_sets_each_say_their_unit() -> None:
    # from a single byte up to a mean of 3.5 GiB: in one unit the least would be at 1e-9
    row = {"footprint_bytes": 3.5 * 2**30, "bytes": 1, "launches": 1, "kernel": "k"}
    found = set_against_footprint([row])
    text = _drawn(found)
    for word in ("1\u202fB", "1\u202fKiB", "1\u202fMiB", "1\u202fGiB"):
        assert f">{word}<" in text
    axis = found["layer"][1]["encoding"]["y"]["axis"]
    assert axis["values"] == [1, 2**5, 2**10, 2**15, 2**20, 2**25, 2**30]
    assert found["layer"][1]["encoding"]["y"]["scale"]["domain"] == [1, 2**32]


def test_bars_are_divided_by_phase_and_the_last_is_all_others() -> None:
    found = phase_bars(PARTS)
    told = [(value["name"], value["phase"], value["left"], value["right"]) for value in found["data"]["values"]]
    assert told == [
        ("Conv2d", "forward", 0.0, 100.0),
        ("Conv2d", "backward", 100.0, 300.0),
        ("<b>", "other", 0.0, 100.0),
    ]
    assert "&lt;b" in _drawn(found)
    assert phase_bars(PARTS * 10)["usermeta"]["terminal"]["labels"][-1] == "7 more"


def test_bars_of_no_phase_need_no_legend() -> None:
    assert "optimizer" not in _drawn(phase_bars(PARTS[1:]))


def test_ranks_are_drawn_from_the_first_to_the_last() -> None:
    rows = [{"rank": at + 1, "name": f"k{at}", "calls": 5000 - at, "cumulative_share": 0.5} for at in range(5000)]
    found = rank_plot(rows)
    ranks = [value["rank"] for value in found["data"]["values"]]
    assert len(ranks) <= MOST_POINTS + 2
    assert (ranks[0], ranks[449], ranks[-1]) == (1, 450, 5000)
    assert "Launches (logarithmic)" in _drawn(rank_plot(rows[:3]))


@pytest.mark.parametrize("draw_", [usage, two_curves, difference, set_against_footprint, phase_bars, rank_plot])
def test_nothing_is_refused(draw_: object) -> None:
    more = {"usage": {"x": ""}, "two_curves": {"base": "", "other": "", "x": ""}, "difference": {"x": ""}}
    with pytest.raises(ValueError, match="no rows to draw"):
        draw_([], **more.get(draw_.__name__, {}))  # type: ignore[operator, attr-defined] # one of the functions
