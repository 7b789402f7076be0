from pathlib import Path

import pytest

from tests.building import build
from tracelode.mining.comparisons.memory_curves import points
from tracelode.mining.mine import compare
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected


def _trace(folder: Path, *lives: tuple[int, int, int]) -> tuple[Trace, Archive]:
    rows = [
        {
            "process": 1,
            "device": 0,
            "kind": "tensor",
            "address": 4096 * at,
            "bytes": size,
            "birth_ns": birth,
            "death_ns": death,
        }
        for at, (size, birth, death) in enumerate(lives)
    ]
    folder.mkdir()
    return build(folder, allocation=rows)


def test_peaks_changes_and_differences_are_exact_and_the_longer_curve_goes_on_alone(tmp_path: Path) -> None:
    # base: 100, 0; other: 60, 160, 60, 0. By change: 60 - 100 = -40, 160 - 0 = 160, then the base has ended.
    base, archive = _trace(tmp_path / "one", (100, 0, 10))
    other, other_archive = _trace(tmp_path / "two", (60, 0, 9), (100, 1, 8))
    found = compare((base, archive), (other, other_archive), "memory_curves")
    event = found.rows.filter(found.rows["axis"] == "event").row(0, named=True)
    assert (event["base_changes"], event["changes"], event["changes_difference"]) == (2, 4, 2)
    assert (event["base_peak_bytes"], event["peak_bytes"], event["peak_difference_bytes"]) == (100, 160, 60)
    assert (event["compared"], event["largest_difference_bytes"], event["largest_at"]) == (2, 160, 1.0)
    assert event["mean_difference_bytes"] == 100.0  # (40 + 160) / 2
    assert found.sentence == (
        "The peak of tensors is 60 B higher than that of the base (100 B), with 4 changes against 2."
    )
    trace = other_archive.open(other.id)
    assert trace.sql(found.sql).equals(found.rows)
    rows = trace.sql(points(base, "event")).rows()
    assert rows == [(0.0, 100, 60, -40), (1.0, 0, 160, 160), (2.0, None, 60, None), (3.0, None, 0, None)]


def test_a_run_equals_itself(tmp_path: Path) -> None:
    one, archive = _trace(tmp_path / "one", (100, 0, 10), (20, 3, 5))
    found = compare((one, archive), (one, archive), "memory_curves")
    assert found.rows["largest_difference_bytes"].to_list() == [0, 0]
    assert found.sentence == "The peak of tensors equals that of the base (120 B), with 4 changes against 4."


def test_without_allocations_in_both_nothing_is_compared(tmp_path: Path) -> None:
    one, archive = _trace(tmp_path / "one", (100, 0, 10))
    (tmp_path / "two").mkdir()
    two, other = build(tmp_path / "two", api=[{"start_ns": 0, "end_ns": 5}])
    with pytest.raises(NotCollected):
        compare((one, archive), (two, other), "memory_curves")
