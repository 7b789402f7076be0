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
    assert (event["largest_difference_bytes"], event["largest_at_change"], event["largest_at_share"]) == (160, 1, None)
    assert event["mean_difference_bytes"] == 100.0  # (40 + 160) / 2
    assert found.sentence == (
        "The peak of tensors is 60 B higher than that of the base (100 B), with 4 changes against 2."
    )
    trace = other_archive.open(other.id)
    assert trace.sql(found.sql).equals(found.rows)
    rows = trace.sql(points(base, "event")).rows()
    assert rows == [(0.0, 100, 60, -40), (1.0, 0, 160, 160), (2.0, None, 60, None), (3.0, None, 0, None)]


def test_by_share_no_change_is_left_out_and_each_level_counts_for_how_long_it_lasts(tmp_path: Path) -> None:
    # base: 100, 0, each half of the changes; other: 60, 160, 60, 0, each a quarter. Other less base: from 0 on 60 - 100
    # = -40, from a quarter 160 - 100 = 60, from a half 60 - 0 = 60, from three quarters 0. Mean: 160 / 4 = 40.
    base, archive = _trace(tmp_path / "one", (100, 0, 10))
    other, other_archive = _trace(tmp_path / "two", (60, 0, 9), (100, 1, 8))
    found = compare((base, archive), (other, other_archive), "memory_curves")
    share = found.rows.filter(found.rows["axis"] == "share").row(0, named=True)
    assert (share["base_changes"], share["changes"]) == (2, 4)
    assert (share["base_peak_bytes"], share["peak_bytes"], share["peak_difference_bytes"]) == (100, 160, 60)
    assert (share["largest_difference_bytes"], share["largest_at_change"], share["largest_at_share"]) == (
        60,
        None,
        0.25,
    )
    assert share["mean_difference_bytes"] == 40.0
    rows = other_archive.open(other.id).sql(points(base, "share")).rows()
    assert rows == [(0.0, 100, 60, -40), (0.25, 100, 160, 60), (0.5, 0, 60, 60), (0.75, 0, 0, 0)]


def test_the_peak_by_share_is_that_of_all_changes_however_many(tmp_path: Path) -> None:
    # 1,000 allocations of 1 B, each released before the next; one of them, the 501st, has 7 B: a place of 2,000 changes
    lives = [(7 if at == 500 else 1, 10 * at, 10 * at + 5) for at in range(1000)]
    one, archive = _trace(tmp_path / "one", *lives)
    found = compare((one, archive), (one, archive), "memory_curves")
    assert found.rows["peak_bytes"].to_list() == [7, 7]
    assert max(row[2] for row in archive.open(one.id).sql(points(one, "share")).rows()) == 7


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
