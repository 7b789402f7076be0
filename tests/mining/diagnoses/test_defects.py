"""Every planted defect is found and named first by its diagnosis, and a run without any is left alone."""

from pathlib import Path

import polars as pl
import pytest

from data.generator.defects import DEFECTS, NONE, write_defect
from tracelode.collect.ingest import read
from tracelode.mining.mine import find, mine
from tracelode.store import Archive, Trace
from tracelode.store.parts import names

SEEDS = (1, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (2, 3)))


def _mined(name: str, seed: int, folder: Path, *, annotations: bool = True) -> Trace:
    archive = Archive(folder / "archive")
    trace, _ = read(write_defect(name, seed, folder, annotations=annotations), archive)
    return mine(trace, archive, "diagnoses")


def _found(trace: Trace) -> pl.DataFrame:
    return trace.finding.collect().sort("finding")


def test_there_is_a_defect_for_every_diagnosis() -> None:
    assert set(DEFECTS) == {*names("diagnosis"), NONE}


@pytest.mark.parametrize("name", sorted(set(DEFECTS) - {NONE}))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_planted_defect_is_the_first_finding(tmp_path: Path, name: str, seed: int) -> None:
    trace = _mined(name, seed, tmp_path)
    found = _found(trace)
    assert found["name"].to_list()[:1] == [name]
    assert found["saves_ns"].is_sorted(descending=True)
    also = {"small_kernels"} if name == "launch_bound" else set()
    assert set(found["name"][1:]) <= also
    _check_bounds(trace, found)


def _check_bounds(trace: Trace, found: pl.DataFrame) -> None:
    """A saving is what the evidence of its place adds up to, and no more than the time it comes from."""
    evidence = trace.evidence.collect()
    for row in found.iter_rows(named=True):
        own = evidence.filter(
            (pl.col("finding") == row["finding"])
            & (pl.col("process") == row["process"])
            & (pl.col("device") == row["device"])
        )
        assert own["saves_ns"].sum() == row["saves_ns"]
        assert 0 < row["saves_ns"] <= row["span_ns"]
        assert (own["saves_ns"] <= own["time_ns"]).all()
        assert evidence.filter(pl.col("finding") == row["finding"])["saves_ns"].to_list() == (
            trace.sql(row["sql"])["saves_ns"].to_list()
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_without_a_defect_has_no_finding(tmp_path: Path, seed: int) -> None:
    assert _found(_mined(NONE, seed, tmp_path))["sentence"].to_list() == []


def test_waiting_for_data_is_told_from_where_it_happens_where_no_span_names_a_loader(tmp_path: Path) -> None:
    (sentence,) = _found(_mined("data_starvation", 1, tmp_path, annotations=False))["sentence"]
    assert sentence.startswith("The device idles ")
    assert "right before iterations" in sentence
    assert "most likely input data comes late" in sentence


def test_the_straggler_is_the_process_that_was_slowed_down(tmp_path: Path) -> None:
    trace = _mined("stragglers", 1, tmp_path)
    assert _found(trace)["process"].to_list() == [41500]
    assert find(trace, Archive(tmp_path / "archive"), "findings").sentence.startswith(
        "The others wait for process 41500: outside communication it takes "
    )


def test_slow_iterations_are_those_that_were_made_slow(tmp_path: Path) -> None:
    trace = _mined("slow_iterations", 1, tmp_path)
    assert sorted(trace.evidence.collect()["what"]) == ["iteration 5", "iteration 9"]
