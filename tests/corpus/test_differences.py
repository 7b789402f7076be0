"""Two traces of one recommender model, as recorded and changed, compared with each other (capability D27)."""

import os
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from tracelode.collect.ingest import read
from tracelode.mining.mine import compare
from tracelode.store import Archive, Trace

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Archive, Trace, Trace]:
    folder = os.environ.get("TRACELODE_CORPUS")
    if not folder:
        pytest.skip("TRACELODE_CORPUS names no corpus")
    archive = Archive(tmp_path_factory.mktemp("pair") / "archive")
    files = [next((Path(folder) / "kineto" / f"hta-trace-diff-{name}").iterdir()) for name in ("control", "test")]
    control, test = (read(file, archive)[0] for file in files)
    compare((control, archive), (test, archive), "differences")
    return archive, control, test


def _rows(pair: tuple[Archive, Trace, Trace]) -> pl.DataFrame:
    archive, _, test = pair
    return archive.open(test.id).pattern_diff.collect()


def test_operations_are_matched_by_name(pair: tuple[Archive, Trace, Trace]) -> None:
    operations = _rows(pair).filter(kind="operation")
    counts = dict(operations.group_by("change").len().rows())
    there = len(operations) - counts["vanished"] - counts["appeared"]
    assert (counts["vanished"], counts["appeared"], there) == (66, 27, 108)


def test_the_burst_of_copies_on_the_device_is_found(pair: tuple[Archive, Trace, Trace]) -> None:
    (row,) = (
        _rows(pair)
        .filter((pl.col("kind") == "operation") & (pl.col("symbols").list.first() == "copy DtoD"))
        .rows(named=True)
    )
    assert (row["base_count_per_iteration"], row["count_per_iteration"]) == (3.0, 768.0)


def test_operations_and_gaps_are_exactly_what_an_iteration_takes_longer(pair: tuple[Archive, Trace, Trace]) -> None:
    rows = _rows(pair)
    sums = (
        rows.filter(pl.col("kind").is_in(["operation", "gaps"]))
        .select(pl.col("time_ns", "base_time_ns", "delta_ns").sum())
        .row(0)
    )
    (total,) = rows.filter(kind="total").rows(named=True)
    assert sums == (total["time_ns"], total["base_time_ns"], total["delta_ns"])
    delta = Fraction(total["time_ns"], total["iterations"]) - Fraction(total["base_time_ns"], total["base_iterations"])
    assert total["delta_ns"] == round(delta)
    assert (total["iterations"], total["base_iterations"]) == (6, 6)


def test_a_trace_compared_with_itself_is_the_same_in_everything(pair: tuple[Archive, Trace, Trace]) -> None:
    archive, control, _ = pair
    found = compare((control, archive), (control, archive), "differences")
    assert found.rows.is_empty()
    assert set(archive.open(control.id).pattern_diff.collect()["change"]) == {"same"}
