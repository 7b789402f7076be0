from pathlib import Path
from typing import Any

import pytest

from tests.made_runs import add, after, members, operations
from tracelode.mining.fingerprint import ASPECTS
from tracelode.mining.headline import HEADLINE
from tracelode.mining.measured_run import MeasuredRun, measure
from tracelode.store import Archive, Facts


def _measured(folder: Path, iterations: int = 10, *, whole: bool = False, **options: Any) -> MeasuredRun:
    archive = Archive(folder / "archive")
    return measure("night", members(add(archive, "night", operations(iterations), **options)), archive, whole=whole)


def test_a_run_has_all_values_and_the_kernels_that_take_most(tmp_path: Path) -> None:
    found = _measured(tmp_path)
    assert (found.name, found.excluded) == ("night", None)
    assert list(found.values) == [one.name for one in HEADLINE]
    assert (found.values["iteration_p50_ns"], found.values["peak_memory_bytes"]) == (100, None)
    assert list(found.kernels.items()) == [("b", 30), ("nccl_all_reduce", 20), ("a", 10), ("c", 6)]
    assert (tuple(found.fingerprint), found.fingerprint["gpu"]) == (ASPECTS, "1 × Made GPU")


def test_it_began_with_its_first_work_where_unix_time_is_known(tmp_path: Path) -> None:
    assert _measured(tmp_path / "not").began_unix_ns is None
    assert _measured(tmp_path / "known", facts=Facts("kineto", base_unix_ns=10**18)).began_unix_ns == 10**18 + 1_006


def test_a_run_with_lost_events_counts_in_no_series(tmp_path: Path) -> None:
    found = _measured(tmp_path, notes=("lost-events", "before-launch"))
    assert found.excluded == "events are missing: lost-events"


@pytest.mark.parametrize("kind", ["sampled", "paused", "selected", "unclassified-work", "undescribed-work"])
def test_a_run_that_was_recorded_in_part_counts_in_no_series(tmp_path: Path, kind: str) -> None:
    assert _measured(tmp_path, notes=(kind,)).excluded == f"events are missing: {kind}"


def test_a_run_of_which_some_times_are_wrong_counts(tmp_path: Path) -> None:
    assert _measured(tmp_path, notes=("end-before-start", "repeated-launch")).excluded is None


def test_a_run_with_few_iterations_counts_in_no_series_but_is_measured(tmp_path: Path) -> None:
    found = _measured(tmp_path, 4)
    assert found.excluded == "4 steady iterations, fewer than 5"
    assert found.values["kernels"] == 4


def test_first_iterations_that_only_take_longer_make_a_run_count_no_sooner(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    warming = after(operations(1, length={"b": 90}), operations(4))
    found = measure("night", members(add(archive, "night", warming)), archive)
    assert found.excluded == "4 steady iterations, fewer than 5"


def test_a_run_with_a_rank_that_shows_no_iterations_counts_in_no_series(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    ranks = [add(archive, f"rank{at}", operations(count)) for at, count in enumerate((10, 1, 10))]
    found = measure("night", members(*ranks), archive)
    assert (found.excluded, found.values["kernels"]) == (
        "no steady iterations were found in 1 trace that worked on a device", 8,
    )  # fmt: skip
    idle = add(archive, "host", {"op": [{"name": "add", "start_ns": 1, "end_ns": 2}]}, device=None)
    assert measure("night", members(ranks[0], idle), archive).excluded is None


def test_a_run_without_iterations_has_values_only_as_a_whole(tmp_path: Path) -> None:
    found = _measured(tmp_path / "none", 1)
    assert found.excluded == "no steady iterations were found"
    assert set(found.values.values()) == {None}
    as_whole = _measured(tmp_path / "whole", 1, whole=True)
    assert (as_whole.values["iteration_p50_ns"], as_whole.values["kernels"]) == (94, 4)
    assert as_whole.excluded == "no iterations: measured as a whole"
