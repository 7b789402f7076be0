import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.reports.charts.bars import pareto, pattern_bars
from tracelode.reports.charts.gaps import gap_histogram
from tracelode.reports.charts.iterations import iteration_series, stacked_time
from tracelode.reports.charts.style import MOST_MARKS, PALETTE, STATES
from tracelode.reports.pictures import WIDE, draw

SPACE = "\u202f"


def values(specification: dict[str, Any]) -> list[dict[str, Any]]:
    return specification["data"]["values"]


def titles(specification: dict[str, Any]) -> list[str]:
    """The titles of the axes, in order."""
    units = specification.get("layer", [specification])
    found = [unit["encoding"][axis].get("title") for unit in units for axis in "xy" if axis in unit["encoding"]]
    return list(dict.fromkeys(title for title in found if title))


def is_drawn(specification: dict[str, Any]) -> bool:
    return draw(specification, width=WIDE, label="", name="b", class_="").text.startswith("<svg")


def iterations(durations: list[int], marks: dict[int, str] | None = None) -> list[dict[str, Any]]:
    return [{"iteration": at, "duration_ns": d, "mark": (marks or {}).get(at)} for at, d in enumerate(durations)]


def test_iterations_are_a_line_with_median_band_and_marked_points() -> None:
    specification = iteration_series(iterations([10_000_000, 12_000_000, 11_000_000, 30_000_000], {3: "outlier"}))
    assert values(specification) == [
        {"iteration": 0, "duration": 10.0},
        {"iteration": 1, "duration": 12.0},
        {"iteration": 2, "duration": 11.0},
        {"iteration": 3, "duration": 30.0},
    ]
    band, _, _, points = specification["layer"]
    assert band["data"]["values"] == [
        {
            "low": 10.0,
            "middle": 11.0,
            "high": 30.0,
            "band": f"10th to 90th percentile: 10.0{SPACE}ms to 30.0{SPACE}ms",
            "median": f"median: 11.0{SPACE}ms",
        }
    ]
    assert points["data"]["values"] == [
        {"iteration": 3, "duration": 30.0, "mark": "outlier", "tip": f"outlier, iteration 3: 30.0{SPACE}ms"}
    ]
    assert titles(specification) == ["Iteration", "Duration (ms)"]
    assert specification["usermeta"] == {
        "terminal": {"title": "Duration", "values": [10_000_000, 12_000_000, 11_000_000, 30_000_000]}
    }
    assert is_drawn(specification)


@settings(max_examples=20)  # Altair takes its time
@given(st.lists(st.integers(1, 499), min_size=1, max_size=60))
def test_the_band_is_that_of_duckdb(durations: list[int]) -> None:
    line = iteration_series(iterations(durations))["layer"][0]["data"]["values"][0]
    sql = f"select unnest(quantile_disc(v, [0.1, 0.5, 0.9])) from unnest({durations}) as t(v)"
    assert [line["low"], line["middle"], line["high"]] == [row[0] for row in duckdb.sql(sql).fetchall()]


def test_a_single_iteration_without_marks_is_drawn() -> None:
    specification = iteration_series(iterations([500]))
    assert titles(specification) == ["Iteration", "Duration (ns)"]
    assert len(specification["layer"]) == 3
    assert is_drawn(specification)


def test_of_many_iterations_neighbours_are_joined_and_the_longest_marked_kept() -> None:
    rows = iterations([1000 + at % 3 for at in range(10_000)], dict.fromkeys(range(0, 10_000, 10), "slow"))
    specification = iteration_series(rows)
    assert len(values(specification)) == 1000
    assert values(specification)[1] == {"iteration": 10, "duration": 1.001}
    assert titles(specification)[1] == "Duration (µs), median of 10 each"
    kept = specification["layer"][3]["data"]["values"]
    assert len(kept) == 200
    assert {point["duration"] for point in kept} == {1.002}
    assert [point["iteration"] for point in kept] == sorted(point["iteration"] for point in kept)


def states(*parts: tuple[int, str, int]) -> list[dict[str, Any]]:
    return [{"iteration": at, "state": state, "time_ns": time} for at, state, time in parts]


def test_states_are_stacked_in_their_fixed_order_and_colours() -> None:
    rows = states((5, "idle", 1_000), (5, "compute", 3_000), (6, "compute", 5_000), (6, "copy", 500))
    specification = stacked_time(rows)
    assert [(v["left"], v["right"], v["state"], v["time"]) for v in values(specification)] == [
        (4.5, 5.5, "compute", 3.0),
        (4.5, 5.5, "idle", 1.0),
        (5.5, 6.5, "compute", 5.0),
        (5.5, 6.5, "copy", 0.5),
    ]
    assert values(specification)[3]["tip"] == f"copy, iteration 6: 500{SPACE}ns"
    assert specification["encoding"]["color"]["scale"] == {
        "domain": ["compute", "copy", "idle"],
        "range": [STATES["compute"], STATES["copy"], STATES["idle"]],
    }
    assert titles(specification) == ["Iteration", "Time (µs)"]
    assert specification["usermeta"]["terminal"] == {
        "title": "Time in all",
        "labels": ["compute", "copy", "idle"],
        "values": [8_000, 500, 1_000],
    }
    assert is_drawn(specification)


def test_of_many_iterations_the_mean_of_neighbours_is_stacked() -> None:
    rows = states(*((at, state, 1_000 * (at % 2) + 1_000) for at in range(160) for state in STATES))
    specification = stacked_time(rows)
    assert len(values(specification)) == 80 * len(STATES)
    assert {v["time"] for v in values(specification)} == {1.5}
    assert titles(specification)[1] == "Time (µs), mean of 2 each"
    assert len(values(specification)) <= MOST_MARKS


def test_a_state_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown state 'lunch'; there are: compute, communication, copy, fill, idle"):
        stacked_time(states((0, "lunch", 1)))


def test_names_are_bars_with_their_time_and_the_share_up_to_there() -> None:
    long = "void at::native::" + "x" * 200 + "(float)"
    rows = [
        {"name": long, "total_ns": 3_000_000, "cumulative_share": 0.75},
        {"name": "gemm", "total_ns": 1_000_000, "cumulative_share": 1.0},
    ]
    specification = pareto(rows)
    first, second = values(specification)
    assert (len(first["name"]), len(first["short"])) == (90, 30)
    assert first["name"].startswith("void at::native::xx")
    assert first["name"].endswith("xx(float)")
    assert second == {
        "place": 1,
        "name": "gemm",
        "short": "gemm",
        "time": 1.0,
        "text": f"1.00{SPACE}ms · 100.0{SPACE}% up to here",
        "tip": f"gemm: 1.00{SPACE}ms · 100.0{SPACE}% up to here",
    }
    assert titles(specification) == ["Time (ms)"]
    assert specification["usermeta"]["terminal"]["values"] == [3_000_000, 1_000_000]
    assert is_drawn(specification)


def test_names_that_look_alike_when_cut_stay_apart() -> None:
    rows = [{"name": "a" * 200 + str(at) + "b" * 200, "total_ns": 5, "cumulative_share": 1.0} for at in range(3)]
    svg = draw(pareto(rows), width=WIDE, label="", name="b", class_="").text
    assert svg.count("<title>") == 3


def test_only_the_first_bars_are_drawn() -> None:
    rows = [{"name": str(at), "total_ns": 100 - at, "cumulative_share": 0.5} for at in range(40)]
    assert [v["name"] for v in values(pareto(rows))] == [str(at) for at in range(15)]
    assert len(values(pareto(rows, most=3))) == 3


def test_patterns_are_bars_with_their_occurrences() -> None:
    specification = pattern_bars([{"pattern": "p1", "total_ns": 2_500_000_000, "occurrences": 1_234}])
    assert [(v["name"], v["time"], v["text"]) for v in values(specification)] == [
        ("p1", 2.5, f"2.50{SPACE}s · 1{SPACE}234×")
    ]
    assert titles(specification) == ["Time (s)"]
    assert is_drawn(specification)


def test_gaps_fall_into_bins_of_1_2_5_and_their_time_is_added_up_by_cause() -> None:
    rows = [
        {"duration_ns": 1_000, "cause": "host"},
        {"duration_ns": 1_999, "cause": "host"},
        {"duration_ns": 9_999, "cause": "copy"},
        {"duration_ns": 2_000, "cause": "host", "total_ns": 20_000},
    ]
    specification = gap_histogram(rows)
    assert [(v["gap"], v["cause"], v["time"]) for v in values(specification)] == [
        ("1 µs", "host", 2.999),
        ("2 µs", "host", 20.0),
        ("5 µs", "copy", 9.999),
    ]
    assert values(specification)[1]["tip"] == f"host, gaps of at least 2 µs: 20.0{SPACE}µs"
    assert titles(specification) == ["Gap of at least", "Idle time (µs)"]
    assert specification["usermeta"]["terminal"] == {
        "title": "Idle time in gaps of at least",
        "labels": ["1 µs", "2 µs", "5 µs"],
        "values": [2_999, 20_000, 9_999],
    }
    assert is_drawn(specification)


def test_bins_without_gaps_are_there_too() -> None:
    specification = gap_histogram([{"duration_ns": 150, "cause": "x"}, {"duration_ns": 3_000_000, "cause": "x"}])
    assert specification["encoding"]["x"]["scale"]["domain"] == [
        "100 ns", "200 ns", "500 ns", "1 µs", "2 µs", "5 µs", "10 µs", "20 µs", "50 µs", "100 µs", "200 µs", "500 µs",
        "1 ms", "2 ms",
    ]  # fmt: skip


def test_the_cheapest_of_many_causes_become_other() -> None:
    rows = [{"duration_ns": 1_000 + at, "cause": f"cause {at}"} for at in range(9)] + [
        {"duration_ns": 5, "cause": "other"}
    ]
    specification = gap_histogram(rows)
    domain = specification["encoding"]["color"]["scale"]["domain"]
    assert domain == [*(f"cause {at}" for at in range(8, 1, -1)), "other"]
    others = [v["time"] for v in values(specification) if v["cause"] == "other"]
    assert others == pytest.approx([0.005, 2.001])


@settings(max_examples=30)  # Altair takes its time
@given(st.lists(st.tuples(st.integers(1, 10**13), st.sampled_from("abcdefghij")), min_size=1, max_size=40))
def test_no_idle_time_is_lost_in_bins_and_causes(gaps: list[tuple[int, str]]) -> None:
    specification = gap_histogram([{"duration_ns": duration, "cause": cause} for duration, cause in gaps])
    assert sum(specification["usermeta"]["terminal"]["values"]) == sum(duration for duration, _ in gaps)


def test_a_gap_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 0 ns"):
        gap_histogram([{"duration_ns": 0, "cause": "x"}])


@pytest.mark.parametrize("builder", [iteration_series, stacked_time, pareto, pattern_bars, gap_histogram])
def test_nothing_to_draw_is_refused(builder: Any) -> None:
    with pytest.raises(ValueError, match="no rows to draw"):
        builder([])


def test_too_many_marks_are_refused() -> None:
    rows = [{"name": str(at), "total_ns": 1, "cumulative_share": 1.0} for at in range(MOST_MARKS + 1)]
    with pytest.raises(ValueError, match="a chart of 2001 marks; the most is 2000"):
        pareto(rows, most=len(rows))


def every_chart() -> list[dict[str, Any]]:
    return [
        iteration_series(iterations([10, 20, 30], {1: "slow", 2: "warm-up"})),
        stacked_time(states((0, "compute", 5), (0, "idle", 5))),
        pareto([{"name": "a", "total_ns": 5, "cumulative_share": 1.0}]),
        pattern_bars([{"pattern": "a", "total_ns": 5, "occurrences": 3}]),
        gap_histogram([{"duration_ns": 7, "cause": c} for c in ("x", "y", "z")]),
    ]


def test_specifications_are_plain_and_the_same_in_every_process() -> None:
    here = json.dumps(every_chart())
    program = f"import json, runpy; print(json.dumps(runpy.run_path({__file__!r})['every_chart']()))"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path.cwd())}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        assert done.stdout.strip() == here


def test_importing_the_builders_is_cheap() -> None:
    heavy = {"altair", "numpy", "polars", "vl_convert"}
    modules = [f"tracelode.reports.charts.{name}" for name in ("bars", "gaps", "iterations")]
    program = f"import sys, {', '.join(modules)}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_palette_differs_in_grey_between_neighbours() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    used = [STATES[state] for state in ("compute", "communication", "copy", "idle")]
    for colours in (PALETTE, used):
        steps = [abs(luminance(a) - luminance(b)) for a, b in pairwise(colours)]
        assert min(steps) > 0.06
