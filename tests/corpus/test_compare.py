"""`compare` on a recommender model as recorded, on seeded copies of it, and on another GPU."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.planted_changes import KINDS, NAME, Planted, change
from tracelode.reports.cli import tracelode

pytestmark = pytest.mark.corpus

PAIRS = [(KINDS, 7), (("slower",), 1), (("inserted",), 2), (("removed",), 1), (("removed", "inserted"), 3)]
ITERATIONS = 6


@pytest.fixture(scope="module")
def control() -> Path:
    folder = os.environ.get("TRACELODE_CORPUS")
    if not folder:
        pytest.skip("TRACELODE_CORPUS names no corpus")
    return Path(folder) / "kineto" / "hta-trace-diff-control" / "control.json.gz"


def _told(*words: object, code: int) -> dict[str, Any]:
    result = CliRunner().invoke(tracelode, ["compare", *map(str, words), "--format", "json"])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code
    return json.loads(result.stdout)


def _rows(told: dict[str, Any]) -> list[dict[str, Any]]:
    (section,) = [section for section in told["sections"] if section["key"] == "attribution"]
    (table,) = [block for block in section["blocks"] if block.get("caption") == "Difference by operation and idle time"]
    return table["rows"]


@pytest.mark.parametrize(("kinds", "seed"), PAIRS)
def test_what_was_planted_is_attributed_to_the_nanosecond_and_named_first(
    control: Path, tmp_path: Path, kinds: tuple[str, ...], seed: int
) -> None:
    planted = change(control, tmp_path / "copy.json.gz", seed=seed, kinds=kinds)
    told = _told(control, "--", tmp_path / "copy.json.gz", code=4)  # one run a side decides nothing
    total, *rows = _rows(told)
    assert sum(row["delta_ns"] for row in rows) == total["delta_ns"]
    operations = {row["name"]: row["delta_ns"] for row in rows if row["kind"] == "operation"}
    assert operations == {one.kernel: pytest.approx(one.ns / ITERATIONS, abs=1) for one in planted}
    assert rows[0]["name"] == max(planted, key=lambda one: abs(one.ns)).kernel
    changes = {row["name"]: row["change"] for row in rows if row["kind"] == "operation"}
    assert changes == {one.kernel: _change(one) for one in planted}


def _change(one: Planted) -> str:
    return {"slower": "slower", "inserted": "appeared", "removed": "vanished"}[one.kind]


def test_inserted_kernels_are_marked_in_the_aligned_iteration(control: Path, tmp_path: Path) -> None:
    (planted,) = change(control, tmp_path / "copy.json.gz", seed=2, kinds=("inserted",))
    told = _told(control, "--", tmp_path / "copy.json.gz", code=4)
    (section,) = [section for section in told["sections"] if section["key"] == "aligned"]
    marked = [row for row in section["blocks"][1]["rows"] if row["mark"] == "inserted" and row["name"] == NAME]
    assert len(marked) == planted.calls / ITERATIONS


def test_another_gpu_is_not_comparable_unless_allowed(control: Path) -> None:
    other = control.parents[1] / "hta-trace-diff-test" / "test.json.gz"
    told = _told(control, "--", other, code=4)
    assert (
        "Not comparable, so nothing is decided: gpu: 1 × NVIDIA A100-PG509-200 against 1 × Tesla V100"
        in told["verdict"]
    )
    assert {check["verdict"] for check in told["checks"]} == {"inconclusive"}
    allowed = _told(control, "--", other, "--allow-mismatch", "gpu", "--allow-mismatch", "ranks", code=4)
    assert "Not comparable" not in allowed["verdict"]
    total, *rows = _rows(allowed)
    # iterations of 75103, 76786, 76292, 76748, 78475 and 81190 µs, and, after one of 156645 that is warm-up,
    # of 117128, 114802, 123104, 116692 and 116143 µs
    assert total["delta_ns"] == round(587_869_000 / 5 - 464_594_000 / 6) == 40_141_467
    assert (rows[0]["name"], rows[0]["change"]) == ("copy DtoD", "more")


def test_the_same_trace_on_both_sides_differs_in_nothing(control: Path) -> None:
    told = _told(control, "--", control, code=4)
    assert [row["delta_ns"] for row in _rows(told)] == [0]
