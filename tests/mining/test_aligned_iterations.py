from pathlib import Path

from tests.made_runs import BODY, add, members, operations
from tracelode.mining.aligned_iterations import Aligned, aligned
from tracelode.mining.measured_run import mined
from tracelode.store import Archive


def _pair(
    folder: Path, body: tuple[str, ...], length: dict[str, int] | None = None, iterations: int = 10
) -> Aligned | None:
    archive = Archive(folder)
    base = mined(members(add(archive, "base", operations(10))), archive)
    other = mined(members(add(archive, "other", operations(iterations, body, length))), archive)
    return aligned(base, other)


def test_inserted_and_removed_operations_are_marked_in_their_place(tmp_path: Path) -> None:
    found = _pair(tmp_path, ("copy", "a", "x", "nccl_all_reduce", "b"), {"b": 60})
    assert found is not None
    assert [(row["mark"], row["name"], row["base_place"], row["place"]) for row in found.rows] == [
        ("same", "copy HtoD", 0, 0),
        ("same", "a", 1, 1),
        ("inserted", "x", None, 2),
        ("same", "nccl_all_reduce", 2, 3),
        ("slower", "b", 3, 4),
        ("removed", "c", 4, None),
    ]
    assert found.edits == 2
    assert [row["delta_ns"] for row in found.rows] == [0, 0, 10, 0, 30, -6]
    assert [row["start_ns"] for row in found.rows if row["start_ns"] is not None] == [6, 16, 32, 48, 74]


def test_the_iteration_of_median_time_stands_for_all(tmp_path: Path) -> None:
    found = _pair(tmp_path, BODY)
    assert found is not None
    assert (found.base["name"], found.base["process"], found.base["time_ns"]) == ("base.json", 1, 100)
    assert {row["mark"] for row in found.rows} == {"same"}


def test_without_iterations_there_is_nothing_to_align(tmp_path: Path) -> None:
    assert _pair(tmp_path, BODY, iterations=1) is None


def test_the_slowest_rank_is_shown_beside_the_same_one_of_the_base(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = mined(members(*(add(archive, f"base{at}", operations(10)) for at in range(2))), archive)
    slow = [add(archive, f"other{at}", operations(10, length={"a": 10 + 40 * at})) for at in range(2)]
    found = aligned(base, mined(members(*slow), archive))
    assert found is not None
    assert (found.base["name"], found.other["name"], found.other["time_ns"]) == ("base1.json", "other1.json", 140)
