import base64
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports.report import Lane, Overlay, Timeline
from tracelode.reports.timeline import FAR, Packed, busy_ns, busy_shares, pack

Operation = tuple[int, int, int]


def lane(operations: list[Operation], *, sql: str = "") -> Lane:
    start, duration, name = (
        (np.array(column, dtype=np.int64) for column in zip(*operations, strict=True))
        if operations
        else (np.array([], dtype=np.int64),) * 3
    )
    return Lane("stream 7", start, duration, name, sql)


def unpack(packed: Packed) -> list[list[Operation]]:
    """Reads the packed columns as the viewer does, with nothing shared with the writer."""
    data = zlib.decompress(base64.b64decode(packed.data), -15)
    place = 0

    def column(count: int, width: int) -> list[int]:
        nonlocal place
        part, place = data[place : place + count * width], place + count * width
        return [sum(part[byte * count + at] << (8 * byte) for byte in range(width)) for at in range(count)]

    rows = []
    for row in packed.header["rows"]:
        far = iter(row["far"])
        steps, durations, names = (column(row["count"], w) for w in (4, 4, 4 if packed.header["wide"] else 2))
        time, starts = row["first"] + int(packed.header["base"]), []
        for step in steps:
            time += next(far) if step == FAR else step
            starts.append(time)
        durations = [next(far) if duration == FAR else duration for duration in durations]
        rows.append(list(zip(starts, durations, names, strict=True)))
    assert place == len(data)
    return rows


TIMES = st.one_of(st.integers(0, 1000), st.integers(2**32 - 2, 2**32 + 2), st.integers(0, 2**60))
OPERATIONS = st.lists(st.tuples(TIMES, TIMES, st.integers(0, 2)), max_size=20).map(sorted)


@given(st.lists(OPERATIONS, max_size=3), st.integers(-(2**40), 2**60))
def test_every_operation_comes_back_as_it_was_packed(lanes: list[list[Operation]], base: int) -> None:
    packed = pack(Timeline("T", base, ["a", "b", "c"], [lane(operations) for operations in lanes], ""))
    assert unpack(packed) == lanes


def test_more_names_than_16_bits_hold_take_32() -> None:
    names = [str(at) for at in range(70_000)]
    packed = pack(Timeline("T", 0, names, [lane([(0, 1, 69_999), (5, 1, 3)])], ""))
    assert packed.header["wide"]
    assert unpack(packed) == [[(0, 1, 69_999), (5, 1, 3)]]


def test_overlays_come_first_sorted_with_each_label_once_among_the_names() -> None:
    spans = [(50, 90, "odd"), (0, 40, "even"), (100, 140, "even")]
    packed = pack(Timeline("T", 0, ["gemm"], [lane([(0, 10, 0)])], "select 1;\n", (Overlay("iterations", spans),)))
    assert packed.header["names"] == ["gemm", "odd", "even"]
    assert [(row["label"], row["kind"], row.get("sql")) for row in packed.header["rows"]] == [
        ("iterations", "overlay", None),
        ("stream 7", "lane", "select 1"),
    ]
    assert unpack(packed) == [[(0, 40, 2), (50, 40, 1), (100, 40, 2)], [(0, 10, 0)]]


def test_the_query_of_a_lane_is_its_own_where_it_has_one() -> None:
    packed = pack(Timeline("T", 0, ["gemm"], [lane([(0, 1, 0)], sql="select *\nfrom kernel")], "select 1"))
    assert packed.header["rows"][0]["sql"] == "select *\nfrom kernel"


def test_names_and_labels_are_made_visible() -> None:
    packed = pack(Timeline("T", 0, ["a\x1b"], [lane([(0, 1, 0)])], "", (Overlay("b\u202e", [(0, 1, "c\n")]),)))
    assert packed.header["names"] == ["a␛", "c␊"]
    assert packed.header["rows"][0]["label"] == "b\\u202e"


@pytest.mark.parametrize(
    ("operations", "fault"),
    [
        ([(5, 1, 0), (4, 1, 0)], "is not sorted by start"),
        ([(5, -1, 0)], "ends before it starts"),
        ([(5, 1, 1)], "not in the list of names"),
        ([(5, 1, -1)], "not in the list of names"),
    ],
)
def test_a_lane_that_cannot_be_shown_is_refused(operations: list[Operation], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        pack(Timeline("T", 0, ["gemm"], [lane(operations)], ""))


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        pack(Timeline("T", 0, ["gemm"], [Lane("x", np.array([1, 2]), np.array([1]), np.array([0]))], ""))


def test_the_same_timeline_gives_the_same_bytes() -> None:
    timeline = Timeline("T", 0, ["gemm"], [lane([(at * 7, 5, 0) for at in range(1000)])], "")
    assert pack(timeline) == pack(timeline)


def test_regular_operations_take_few_bytes() -> None:
    random = np.random.default_rng(1)
    duration = random.integers(2_000, 60_000, 50_000)
    start = np.cumsum(duration + random.integers(500, 3_000, 50_000)) - duration
    packed = pack(
        Timeline("T", 0, [str(at) for at in range(60)], [Lane("x", start, duration, np.arange(50_000) % 60)], "")
    )
    assert len(packed.data) / 50_000 < 7


SMALL = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=12).map(sorted)


def arrays(operations: list[tuple[int, int]]) -> Any:
    return np.array([s for s, _ in operations]), np.array([d for _, d in operations])


@given(SMALL)
def test_time_covered_several_times_counts_once(operations: list[tuple[int, int]]) -> None:
    covered = {time for start, duration in operations for time in range(start, start + duration)}
    assert busy_ns(*arrays(operations)) == len(covered)


@given(SMALL, st.integers(1, 9))
def test_shares_are_the_busy_part_of_each_equal_slice(operations: list[tuple[int, int]], count: int) -> None:
    covered = {time for start, duration in operations for time in range(start, start + duration)}
    start, duration = arrays(operations)
    shares = busy_shares(Lane("x", start, duration, np.zeros_like(start)), 0, 90 * count, count)
    wanted = [len([t for t in covered if 90 * at <= t < 90 * at + 90]) / 90 for at in range(count)]
    assert shares == pytest.approx(wanted)
