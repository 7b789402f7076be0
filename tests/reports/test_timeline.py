import base64
import json
import struct
import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.reports.report import Curve, Lane, Overlay, Timeline
from tracelode.reports.timeline import FAR, Packed, busy_ns, busy_shares, pack, span

Operation = tuple[int, int, int]


def lane(operations: list[Operation], *, sql: str = "") -> Lane:
    start, duration, name = (
        (np.array(column, dtype=np.int64) for column in zip(*operations, strict=True))
        if operations
        else (np.array([], dtype=np.int64),) * 3
    )
    return Lane("stream 7", start, duration, name, sql)


class Columns:
    """Reads the packed columns as the viewer does, with nothing shared with the writer."""

    def __init__(self, packed: Packed) -> None:
        self.data = zlib.decompress(base64.b64decode(packed.data), -15)
        self.place = packed.header["letters"]
        self.names = json.loads(self.data[: self.place])
        self.id_width = 4 if packed.header["wide"] else 2

    def column(self, count: int, width: int) -> list[int]:
        part = self.data[self.place : self.place + count * width]
        self.place += count * width
        return [int.from_bytes(part[at::count], "little") for at in range(count)] if count else []

    def operations(self, row: dict[str, Any], base: int) -> list[Operation]:
        far = iter(row["far"])
        gaps, durations, names = (self.column(row["count"], width) for width in (4, 4, self.id_width))
        gaps = [next(far) if gap == FAR else -(gap // 2) - 1 if gap % 2 else gap // 2 for gap in gaps]
        durations = [next(far) if duration == FAR else duration for duration in durations]
        latest, operations = row["first"] + base, []
        for gap, duration, name in zip(gaps, durations, names, strict=True):
            start = latest + gap
            latest = max(latest, start + duration)
            operations.append((start, duration, name))
        return operations

    def levels(self, row: dict[str, Any]) -> tuple[list[int], list[int], list[list[int]]]:
        finest = row["levels"][0]
        return (
            self.column(finest, 1),
            self.column(finest, 4),
            [self.column(size, self.id_width) for size in row["levels"]],
        )


def unpack(packed: Packed) -> list[list[Operation]]:
    """The operations of every row of a timeline without levels."""
    columns = Columns(packed)
    rows = [columns.operations(row, int(packed.header["base"])) for row in packed.header["rows"]]
    assert columns.place == len(columns.data)
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
    assert Columns(packed).names == ["gemm", "odd", "even"]
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
    assert Columns(packed).names == ["a␛", "c␊"]
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


def lanes_of(*sizes: int) -> list[Lane]:
    """Lanes of that many operations, 7 ns long, one every 10 ns."""
    return [Lane(f"stream {size}", np.arange(size) * 10, np.full(size, 7), np.arange(size) % 3) for size in sizes]


def test_too_many_operations_are_held_in_full_in_stretches_and_as_levels_everywhere() -> None:
    wanted = ((5000, 5100, "typical iteration 5"), (9900, 10_000, "last iteration 9"))
    timeline = Timeline("T", 0, ["a", "b", "c"], lanes_of(1000, 20), "", wanted=wanted)
    packed = pack(timeline, most=120)
    assert packed.header["stretches"] == [
        (0, 800, "the beginning"),
        (5000, 5100, "typical iteration 5"),
        (9900, 10_000, "last iteration 9"),
    ]
    large, small = packed.header["rows"]
    assert (large["count"], large["whole"], large["levels"]) == (100, 1000, [9997, 2500, 625])
    assert (small["count"], "levels" in small) == (20, False)
    columns = Columns(packed)
    held = columns.operations(large, 0)
    assert [start for start, _, _ in held] == [*range(0, 800, 10), *range(5000, 5100, 10), *range(9900, 10_000, 10)]
    busy, count, names = columns.levels(large)
    assert busy == [255 if at % 10 < 7 else 0 for at in range(9997)]
    assert count == [int(at % 10 == 0) for at in range(9997)]
    assert names[0] == [at // 10 % 3 + 1 if at % 10 < 7 else 0 for at in range(9997)]
    assert len(columns.operations(small, 0)) == 20
    assert columns.place == len(columns.data)


def test_an_operation_that_reaches_into_a_stretch_is_held() -> None:
    lane = Lane("x", np.array([0, 10, *range(100, 200)]), np.array([60, 5, *[1] * 100]), np.zeros(102, dtype=int))
    packed = pack(Timeline("T", 0, ["a"], [lane], "", wanted=((50, 101, "w"),)), most=1)
    assert Columns(packed).operations(packed.header["rows"][0], 0) == [(0, 60, 0), (100, 1, 0)]


def test_totals_are_those_of_all_operations_whatever_is_held() -> None:
    timeline = Timeline("T", 0, ["a", "b", "c", "unused"], lanes_of(1000, 20), "")
    whole, part = pack(timeline).header, pack(timeline, most=120).header
    for key in ("totals", "operations", "used", "spent", "last"):
        assert whole[key] == part[key], key
    assert whole["totals"] == [[0, 341, 2387], [1, 340, 2380], [2, 339, 2373]]
    assert (whole["operations"], whole["used"], whole["spent"], whole["last"]) == (1020, 3, 7140, 9997)


@settings(max_examples=20, deadline=None)  # each reads a hundred thousand bins
@given(st.lists(OPERATIONS, min_size=1, max_size=3), st.integers(0, 20))
def test_whatever_is_held_is_of_the_lane_and_never_too_much(lanes: list[list[Operation]], most: int) -> None:
    packed = pack(Timeline("T", 0, ["a", "b", "c"], [lane(one) for one in lanes], ""), most=most)
    columns = Columns(packed)
    for row, operations in zip(packed.header["rows"], lanes, strict=True):
        held = columns.operations(row, 0)
        assert not Counter(held) - Counter(operations)
        if "levels" in row:
            _, count, _ = columns.levels(row)
            assert sum(count) == row["whole"] == len(operations)
        else:
            assert held == operations


def test_a_curve_keeps_its_times_and_values_exactly() -> None:
    curve = Curve("memory", np.array([5, 5 + 2**40, 6 + 2**40]), np.array([0.1, 8_589_934_593, -3]), "bytes")
    packed = pack(Timeline("T", 5, [], [], "", curves=(curve,)))
    (row,) = packed.header["rows"]
    assert (row["label"], row["kind"], row["group"], row["unit"]) == ("memory", "curve", "counters", "bytes")
    columns = Columns(packed)
    steps = columns.column(3, 4)
    assert (row["first"], steps, row["far"]) == (0, [0, FAR, 1], [2**40])
    bits = columns.column(3, 8)
    assert [struct.unpack("<d", value.to_bytes(8, "little"))[0] for value in bits] == [0.1, 8_589_934_593, -3]
    with pytest.raises(ValueError, match="not sorted by time"):
        pack(Timeline("T", 0, [], [], "", curves=(Curve("c", np.array([2, 1]), np.array([0, 0])),)))


def test_the_span_is_from_the_first_start_to_the_last_end() -> None:
    lanes = [lane([(5, 100, 0), (8, 1, 0)]), lane([]), lane([(3, 4, 0)])]
    assert span(Timeline("T", 0, ["a"], lanes, "")) == (3, 105)
    assert span(Timeline("T", 0, [], [], "")) == (0, 0)
