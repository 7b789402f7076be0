from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.collect.work import Notes, table
from tracelode.collect.overlaps import Overlaps, streams

Row = dict[str, Any]


def gemms(count: int, **more: Any) -> list[Row]:
    """Kernels of 10 ns, one every 100 ns."""
    return [{"start_ns": 100 * n, "end_ns": 100 * n + 10, "name": "gemm", **more} for n in range(count)]


def overlong(*rows: Row, name: str = "kernel") -> list[int]:
    """The places of the rows that are overlong."""
    found = Overlaps().check({name: table(name, *rows)}).get(name)
    return [] if found is None else found.nonzero()[0].tolist()


def test_streams_hold_the_rows_of_all_tables_by_start() -> None:
    kernels = table("kernel", {"start_ns": 1, "end_ns": 2}, {"start_ns": 9, "end_ns": 10})
    copies = table("copy", {"start_ns": 5, "end_ns": 6}, {"start_ns": 7, "end_ns": 8, "stream": 8})
    (stream,) = streams([kernels, copies])
    assert list(zip(stream.start.tolist(), stream.table.tolist(), stream.row.tolist(), strict=True)) == [
        (1, 0, 0),
        (5, 1, 0),
        (9, 0, 1),
    ]


def test_overlaps_are_counted_with_what_lies_within_another() -> None:
    rows = [{"start_ns": 0, "end_ns": 100}, {"start_ns": 90, "end_ns": 120}, {"start_ns": 95, "end_ns": 99}]
    notes = Notes()
    overlaps = Overlaps()
    assert overlaps.check({"kernel": table("kernel", *rows)}) == {}
    overlaps.tell(notes)
    assert notes == [("overlap", 2, "14 ns shared in all; 1 lie within another")]


def test_what_touches_does_not_overlap() -> None:
    notes = Notes()
    overlaps = Overlaps()
    overlaps.check({"kernel": table("kernel", {"start_ns": 0, "end_ns": 5}, {"start_ns": 5, "end_ns": 9})})
    overlaps.tell(notes)
    assert notes == []


def test_a_kernel_that_runs_over_three_later_ones_and_far_longer_than_its_like_is_overlong() -> None:
    rows = gemms(20)
    rows[4]["end_ns"] = 801  # over the starts at 500, 600, 700 and 800
    assert overlong(*rows) == [4]
    rows[4]["end_ns"] = 700  # over two only
    assert overlong(*rows) == []


def test_a_kernel_not_ten_times_as_long_as_its_like_is_not() -> None:
    rows = gemms(20)
    rows[4]["end_ns"] = 801
    rows[9]["end_ns"] = 960  # 60 ns: the longest of its like
    assert overlong(*rows) == []


def test_a_kernel_whose_like_is_rare_must_run_over_more() -> None:
    rows = gemms(30)
    rows[4] |= {"name": "single", "end_ns": 801}
    assert overlong(*rows) == []
    rows[4] |= {"end_ns": 1500}
    assert overlong(*rows) == [4]


def test_a_copy_may_be_overlong_among_kernels() -> None:
    work = {
        "kernel": table("kernel", *gemms(30)),
        "copy": table("copy", {"start_ns": 250, "end_ns": 2000, "kind": "HtoD"}),
    }
    found = Overlaps().check(work)
    assert found["copy"].tolist() == [True]
    assert not found["kernel"].any()


def test_work_of_a_graph_or_of_one_launch_is_never_overlong() -> None:
    rows = gemms(20)
    rows[4]["end_ns"] = 1500
    assert overlong(*rows) == [4]
    assert overlong(*({**row, "graph": 3} for row in rows)) == []
    assert overlong(*({**row, "correlation": 9} for row in rows)) == []
    assert overlong(*({**row, "correlation": n} for n, row in enumerate(rows, 1))) == [4]


def test_streams_of_two_contexts_under_one_number_are_not_in_order() -> None:
    rows = gemms(20)
    rows[4]["end_ns"] = 1500
    assert overlong(*({**row, "context": n % 2} for n, row in enumerate(rows))) == []


def test_a_stream_on_which_much_overlaps_is_no_queue() -> None:
    rows = gemms(20)
    for row in rows[::5]:
        row["end_ns"] = row["start_ns"] + 1000
    assert overlong(*rows) == []


def test_what_an_overlong_kernel_covers_is_no_overlap() -> None:
    rows = gemms(20)
    rows[4]["end_ns"] = 1500
    rows[17]["end_ns"] = 1805
    notes = Notes()
    overlaps = Overlaps()
    overlaps.check({"kernel": table("kernel", *rows)})
    overlaps.tell(notes)
    assert notes == [("overlap", 1, "5 ns shared in all; 0 lie within another")]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), min_size=2, max_size=12))
def test_the_time_shared_is_what_the_sum_exceeds_the_union_by(pairs: list[tuple[int, int]]) -> None:
    rows = [{"start_ns": start, "end_ns": start + length, "graph": 1} for start, length in pairs]
    notes = Notes()
    overlaps = Overlaps()
    overlaps.check({"kernel": table("kernel", *rows)})
    overlaps.tell(notes)
    covered = {ns for start, length in pairs for ns in range(start, start + length)}
    shared = sum(length for _, length in pairs) - len(covered)
    told = int(notes[0][2].split()[0]) if notes and notes[0][2] else 0
    # Of three at once, each later one shares its time with those before it.
    assert told == shared
