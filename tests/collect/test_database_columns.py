import pyarrow as pa

from tracelode.collect.database_columns import Rows, near


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
