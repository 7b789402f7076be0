from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tracelode.collect.database_columns import Rows, fitting, near, placed


def test_rows_are_chosen_with_all_their_columns() -> None:
    rows = Rows({"start": pa.array([1, 2, 3])}, {"more": pa.array(["a", None, "c"])}, 3)
    chosen = rows.filter(pa.array([True, None, True]))
    assert chosen["start"].to_pylist() == [1, 3]
    assert chosen.rest["more"].to_pylist() == ["a", "c"]
    assert chosen.count == 2
    assert rows.filter(pa.array([True] * 3)) is rows
    assert rows.filter(pa.array([None, False, None], pa.bool_())).count == 0


def test_times_of_which_sums_would_overflow_cannot_be() -> None:
    assert near(pa.array([0, 2**62 - 1, 2**62, -(2**62), None])).to_pylist() == [True, True, False, False, None]


def noting(notes: list[tuple[str, int, str | None]]) -> Callable[..., None]:
    def note(kind: str, meaning: str, *, count: int = 1, example: str | None = None) -> None:
        notes.append((kind, count, example))

    return note


def test_numbers_that_do_not_fit_become_null_and_are_counted() -> None:
    notes: list[tuple[str, int, str | None]] = []
    values = pa.array([2**31 - 1, 2**31, None, -(2**31), -(2**31) - 1])
    assert fitting(values, "gridX", noting(notes)).to_pylist() == [2**31 - 1, None, None, -(2**31), None]
    assert notes == [("out-of-range", 2, "gridX")]
    fit: list[Any] = [pa.array([1, None]), pa.nulls(2, pa.int64()), pa.array([], pa.int64())]
    assert all(fitting(values, "gridX", noting(notes)) is values for values in fit)
    assert len(notes) == 1


def test_work_of_no_stated_place_counts_to_0() -> None:
    notes: list[tuple[str, int, str | None]] = []
    assert placed(pa.array([3, None, None]), "device", noting(notes)).to_pylist() == [3, 0, 0]
    assert notes == [("no-device", 2, None)]
    assert placed(pa.array([3]), "device", noting(notes)).to_pylist() == [3]
    assert len(notes) == 1
