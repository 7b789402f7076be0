import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.work import PLACE, Notes, table
from tracelode.collect.flaws import MEANINGS, Marking, known_sizes, row_flaws
from tracelode.store import TABLES
from tracelode.store.columns import FLAWS

DAY_NS = 86_400 * 10**9


def mark(work: dict[str, pa.Table], notes: Notes) -> dict[str, pa.Table]:
    """The tables marked as the only block of a trace."""
    starts = [start for rows in work.values() for start in rows["start_ns"].to_pylist() if start]
    marking = Marking(min(starts, default=None), notes)
    marked = marking.mark(work)
    marking.finish()
    return marked


def times(found: pa.Table) -> list[tuple[int, int, str | None]]:
    """Start, end and flaw of each row."""
    return [(row["start_ns"], row["end_ns"], row["flaw"]) for row in found.to_pylist()]


def test_copies_and_fills_of_fewer_than_no_bytes_have_no_size() -> None:
    notes = Notes()
    piece = table("copy", *({"start_ns": at, "end_ns": at, "bytes": size} for at, size in enumerate((4, -5, None, 0))))
    found = known_sizes(piece, "copy", notes)
    assert found["bytes"].to_pylist() == [4, None, None, 0]
    assert found["args"].to_pylist() == [None, '{"recorded_bytes": -5}', None, None]
    assert notes == [("negative-size", 1, "copy: -5 bytes")]
    assert known_sizes(piece.slice(2), "copy", notes).equals(piece.slice(2))
    assert len(notes) == 1


def test_rows_with_times_that_can_be_are_not_touched() -> None:
    piece = table("kernel", {"start_ns": 5, "end_ns": 5, "name": "a"}, {"start_ns": 6, "end_ns": 6 + 30 * DAY_NS})
    notes = Notes()
    assert row_flaws(piece, "kernel", notes) is piece
    assert notes == []


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        (10, 9, (10, 10, "negative duration")),
        (0, 30 * DAY_NS + 1, (0, 0, "timestamp overflow")),
        (-(1 << 61), 1 << 61, (-(1 << 61), -(1 << 61), "timestamp overflow")),
        (1 << 62, (1 << 62) + 5, (1 << 62, 1 << 62, "no start")),
        (-(1 << 63), (1 << 63) - 1, (-(1 << 63), -(1 << 63), "no start")),
    ],
)
def test_a_row_with_times_that_cannot_be_ends_where_it_starts(
    start: int, end: int, wanted: tuple[int, int, str]
) -> None:
    notes = Notes()
    piece = table("op", {"id": 0, "start_ns": start, "end_ns": end, "name": "a", "args": '{"x": 1}'})
    marked = row_flaws(piece, "op", notes)
    assert times(marked) == [wanted]
    assert marked["args"].to_pylist() == [f'{{"x": 1, "recorded_end_ns": {end}}}']
    assert notes.counts() == {wanted[2].replace(" ", "-"): 1}


def test_the_first_of_the_marked_rows_is_the_example() -> None:
    rows = [{"start_ns": at, "end_ns": at - 3, "name": f"k{at}"} for at in (10, 20)]
    notes = Notes()
    row_flaws(table("kernel", {"start_ns": 1, "end_ns": 2}, *rows), "kernel", notes)
    assert notes == [("negative-duration", 2, "kernel k10 at 10 ns, -3 ns long")]


def test_columns_of_repeated_texts_stay_such() -> None:
    piece = table(
        "kernel", {"start_ns": 9, "end_ns": 1, "args": "{}"}, {"start_ns": 10, "end_ns": 12, "args": '{"a": 2}'}
    )
    at = piece.schema.get_field_index("args")
    kind = pa.dictionary(pa.int32(), pa.string())
    piece = piece.set_column(at, piece.schema.field("args").with_type(kind), piece["args"].dictionary_encode())
    marked = row_flaws(piece, "kernel", Notes())
    assert marked.schema == piece.schema
    assert marked["args"].to_pylist() == ['{"recorded_end_ns": 1}', '{"a": 2}']


def test_work_without_an_end_has_no_duration() -> None:
    notes = Notes()
    piece = table("kernel", {"start_ns": 5, "end_ns": None, "name": "a", "args": "{}"}, {"start_ns": 6, "end_ns": 6})
    marked = row_flaws(piece, "kernel", notes)
    assert times(marked) == [(5, 5, "no end"), (6, 6, None)]
    assert marked["args"].to_pylist() == ["{}", None]
    assert notes == [("no-end", 1, "kernel a at 5 ns")]


def test_tables_without_the_columns_only_lose_the_end_that_cannot_be() -> None:
    fault = pa.Table.from_pylist(
        [{"process": 1, "processor": "gpu", "start_ns": 9, "end_ns": end} for end in (None, 3, 12)],
        schema=TABLES["fault"].schema,
    )
    notes = Notes()
    assert row_flaws(fault, "fault", notes)["end_ns"].to_pylist() == [None, 9, 12]
    assert notes.counts() == {"negative-duration": 1}
    counter = pa.table({"time_ns": [1]})
    assert row_flaws(counter, "counter", notes) is counter


@given(st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=8))
def test_after_marking_no_row_ends_before_it_starts_or_lasts_for_months(pairs: list[tuple[int, int]]) -> None:
    piece = table("kernel", *({"start_ns": start, "end_ns": end} for start, end in pairs))
    marked = row_flaws(piece, "kernel", Notes())
    assert marked["start_ns"].equals(piece["start_ns"])
    for before, (start, end, flaw) in zip(piece["end_ns"].to_pylist(), times(marked), strict=True):
        assert 0 <= end - start <= 30 * DAY_NS
        assert end == (start if flaw else before)


def test_work_at_0_is_marked_only_where_all_else_starts_long_after() -> None:
    lost, far = {"start_ns": 0, "end_ns": 0, "name": "lost"}, {"start_ns": 10**9, "end_ns": 10**9 + 5}
    notes = Notes()
    assert times(mark({"kernel": table("kernel", lost, far)}, notes)["kernel"])[0] == (0, 0, "no start")
    assert notes.counts() == {"no-start": 1}
    for other in ({"start_ns": 10**9 - 1, "end_ns": 10**9}, None):
        assert (
            times(mark({"kernel": table("kernel", lost, *([other] if other else []))}, Notes())["kernel"])[0][2] is None
        )


def test_rows_keep_their_order_and_number() -> None:
    rows = [{"start_ns": 100 * n, "end_ns": 100 * n + 10, "name": "a"} for n in range(20)]
    rows[3]["end_ns"] = 1500
    found = mark({"kernel": table("kernel", *rows), "fill": table("fill", {"start_ns": 5, "end_ns": 6})}, Notes())
    assert [(row["start_ns"], row["flaw"]) for row in found["kernel"].to_pylist()] == [
        (100 * n, "overlong" if n == 3 else None) for n in range(20)
    ]
    assert times(found["fill"]) == [(5, 6, None)]


def test_every_flaw_is_a_word_of_the_tables_and_has_a_meaning() -> None:
    assert tuple(MEANINGS) == FLAWS


def test_nothing_is_marked_in_no_rows() -> None:
    empty = TABLES["kernel"].schema.empty_table()
    notes = Notes()
    assert len(mark({"kernel": row_flaws(empty, "kernel", notes)}, notes)["kernel"]) == 0
    assert notes == []


def test_many_rows_are_marked_as_few_are() -> None:
    count = 300_000
    start = np.arange(count, dtype=np.int64) * 100
    end = start + 10
    end[[5, 200_000]] += 10_000
    columns = {"start_ns": start, "end_ns": end, "name": pa.repeat("a", count)}
    arrays = {name: pa.repeat(value, count) for name, value in PLACE.items()}
    empty = {f.name: pa.nulls(count, f.type) for f in TABLES["kernel"].schema}
    full = pa.table(empty | arrays | columns).select(TABLES["kernel"].names)
    notes = Notes()
    marked = mark({"kernel": full}, notes)["kernel"]
    assert np.flatnonzero(marked["flaw"].is_valid().to_numpy()).tolist() == [5, 200_000]
    assert notes.counts() == {"overlong": 2}


def test_a_row_that_is_marked_already_keeps_what_was_recorded_of_it() -> None:
    notes = Notes()
    later = {"start_ns": 10**9, "end_ns": 10**9 + 1}
    lost = table("kernel", {"start_ns": 0, "end_ns": 31 * DAY_NS, "name": "lost"}, later)
    marked = mark({"kernel": row_flaws(lost, "kernel", notes)}, notes)["kernel"]
    assert times(marked)[0] == (0, 0, "timestamp overflow")
    assert marked["args"].to_pylist()[0] == f'{{"recorded_end_ns": {31 * DAY_NS}}}'
    assert notes.counts() == {"timestamp-overflow": 1}


def test_a_fault_beyond_the_clock_without_an_end_is_none_the_less_read() -> None:
    row = {"process": 1, "processor": "gpu", "start_ns": 1 << 62, "end_ns": None}
    fault = pa.Table.from_pylist([row], schema=TABLES["fault"].schema)
    assert row_flaws(fault, "fault", Notes())["end_ns"].to_pylist() == [1 << 62]


def test_columns_that_a_piece_leaves_out_are_added_where_they_are_needed() -> None:
    piece = pa.table({"process": [1, 1], "start_ns": [5, 6], "end_ns": [4, 7], "name": ["a", "b"]})
    marked = row_flaws(piece, "op", Notes())
    assert marked["flaw"].to_pylist() == ["negative duration", None]
    assert marked["args"].to_pylist() == ['{"recorded_end_ns": 4}', None]
