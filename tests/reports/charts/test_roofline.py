import json
from typing import Any

import pytest

from tracelode.reports.charts.roofline import roofline
from tracelode.reports.pictures import NARROW, WIDE, draw


def _row(kind: str, family: str, intensity: float, rate: float, **more: Any) -> dict[str, Any]:
    told = {
        "kind": kind, "family": family, "arithmetic": "bf16", "intensity": intensity, "tflops_per_s": rate,
        "time_ns": 1000, "share": 0.25, "calls": 3, "roof_share": 0.5, "peak_tflops_per_s": 1000.0,
        "bandwidth_gb_per_s": 4000.0,
    }  # fmt: skip
    return told | more


ROWS = [
    _row("mm", "gemm", 500, 400.0, time_ns=6000),
    _row("add", "elementwise", 0.2, 0.5, arithmetic="vector fp32", peak_tflops_per_s=50.0),
    _row("relu", "elementwise", 0.25, 0.04, arithmetic="vector fp32", peak_tflops_per_s=50.0),
    _row("cat", "copy", 1.0, 0.0),
]


def _layers(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [layer["data"]["values"] for layer in roofline(rows)["layer"][:-1]]


def test_calls_are_points_with_their_share_and_a_tip() -> None:
    values = roofline(ROWS)["data"]["values"]
    assert [(value["intensity"], value["rate"], value["family"]) for value in values] == [
        (500, 400.0, "gemm"), (0.2, 0.5, "elementwise"), (0.25, 0.04, "elementwise"),
    ]  # fmt: skip
    assert values[0]["tip"] == (
        "mm (bf16), 3 calls of 6.00\u202fµs: 500 FLOPs a byte, 400 TFLOP/s, 50.0\u202f% of the roof"
    )


def test_a_roof_rises_with_the_bandwidth_up_to_its_peak() -> None:
    lines, peaks, slopes = _layers(ROWS)
    assert [(line["roof"], line["intensity"], line["rate"]) for line in lines] == [
        (0, 0.1, 0.4), (0, 12.5, 50.0), (0, 1000.0, 50.0), (1, 0.1, 0.4), (1, 250.0, 1000.0), (1, 1000.0, 1000.0),
    ]  # fmt: skip
    assert [peak["text"] for peak in peaks] == ["vector fp32: 50 TFLOP/s", "bf16: 1,000 TFLOP/s"]
    assert [(slope["intensity"], slope["text"]) for slope in slopes] == [(0.1, "4,000 GB/s")]


def test_a_roof_close_below_another_has_its_name_under_it() -> None:
    _, peaks, _ = _layers([ROWS[0], _row("mm", "gemm", 400, 90.0, arithmetic="fp16", peak_tflops_per_s=900.0)])
    assert peaks[0]["rate"] < 900
    assert peaks[1]["rate"] == 1000


def test_equal_roofs_are_one() -> None:
    rows = [ROWS[0], _row("mm", "gemm", 400, 90.0, arithmetic="fp16")]
    assert _layers(rows)[1][0]["text"] == "bf16, fp16: 1,000 TFLOP/s"


def test_without_peaks_only_points_are_drawn() -> None:
    (layer,) = roofline([_row("mm", "gemm", 5, 4.0, peak_tflops_per_s=None, roof_share=None)])["layer"]
    assert layer["mark"]["type"] == "point"


def test_the_axes_are_logarithmic_and_hold_all_points_and_roofs() -> None:
    encoding = roofline(ROWS)["layer"][-1]["encoding"]
    assert encoding["x"]["scale"] == {"type": "log", "domain": [0.1, 1000.0], "nice": False}
    assert encoding["y"]["scale"]["domain"] == [0.01, 10_000.0]


def test_families_beyond_seven_share_a_colour() -> None:
    rows = [_row("k", f"family {at}", 1 + at, 1.0, time_ns=1000 - at) for at in range(9)]
    specification = roofline(rows)
    domain = specification["layer"][-1]["encoding"]["color"]["scale"]["domain"]
    assert domain == [*(f"family {at}" for at in range(6)), "other"]
    assert [value["family"] for value in specification["data"]["values"]][-3:] == ["other"] * 3


def test_a_terminal_shows_the_time_of_kinds() -> None:
    assert roofline(ROWS)["usermeta"]["terminal"] == {
        "title": "Kernel time of operators under the roof",
        "labels": ["mm", "add", "relu"],
        "values": [6000, 1000, 1000],
    }


def test_it_is_plain_json_and_drawn_at_both_widths() -> None:
    specification = roofline(ROWS)
    assert json.loads(json.dumps(specification)) == specification
    for width in (WIDE, NARROW):
        drawn = draw(specification, width=width, label="x", name="a", class_="wide").text
        assert "Achieved (TFLOP/s, logarithmic)" in drawn
        assert "bf16: 1,000 TFLOP/s" in drawn


def test_nothing_to_draw_and_too_much_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        roofline([ROWS[3]])
    with pytest.raises(ValueError, match="too many"):
        roofline([_row("k", "gemm", 1.0, 1.0)] * 1001)
