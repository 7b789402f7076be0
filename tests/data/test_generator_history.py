"""Holds the sample history against what writes it, and against what is planted in it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from click.testing import CliRunner

from data.generator.history import NIGHTS, main, nights, write_history
from tracelode.reports.cli import tracelode

SAMPLES = Path(__file__).parents[2] / "data" / "samples" / "history"


def traces(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.json.gz")}


def test_the_samples_are_what_the_generator_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["history", str(tmp_path / "by-command")])
    main()
    write_history(tmp_path / "again")
    assert traces(tmp_path / "by-command") == traces(tmp_path / "again") == traces(SAMPLES)
    assert len(traces(SAMPLES)) == NIGHTS


def test_the_samples_stay_small() -> None:
    assert sum(len(content) for content in traces(SAMPLES).values()) < 400_000


def test_the_plan_has_a_driver_an_outlier_and_a_slow_kernel() -> None:
    made = list(nights())
    assert [one.number for one in made if one.driver == 12090] == list(range(1, 21))
    assert [one.number for one in made if one.scale > 1.1] == [35]
    assert [one.number for one in made if one.slowdown > 1] == list(range(50, 61))
    assert median(one.scale for one in made) == pytest.approx(1, abs=0.003)


@pytest.mark.exhaustive
def test_a_newcomer_sees_the_regression_with_one_command(tmp_path: Path) -> None:
    there = tmp_path / "history"
    shutil.copytree(SAMPLES, there, ignore=shutil.ignore_patterns("archive", "checks"))
    result = CliRunner().invoke(tracelode, ["batch", str(there / "pipeline.toml")])
    assert result.exit_code == 3, result.output
    told = json.loads((there / "checks" / "check.json").read_text())
    assert verdicts(told) == {
        "Median iteration": "regression",
        "95th percentile of iterations": "regression",
        "Busy share of the devices": "neutral",
        "Exposed communication per iteration": "neutral",
        "Idle time per iteration": "neutral",
        "Copied to devices per iteration": "neutral",
        "Kernels per iteration": "neutral",
    }
    assert told["checks"][0]["sentence"].startswith("In 11 runs since night-50")
    assert [line for line in told["health"] if line.endswith("(driver 12090 → 13000)")]
    kernels = next(one for one in told["sections"] if one["key"].endswith("-kernels"))
    assert "1 of 5 kernels" in kernels["sentence"]
    assert "softmax_kernel" in kernels["sentence"]
    assert (there / "checks" / "check.html").is_file()


def verdicts(told: Mapping[str, Any]) -> dict[str, str]:
    return {check["title"]: check["verdict"] for check in told["checks"]}
