import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.protobuf_messages import fixed64, message, varint
from tracelode.collect.protobuf import (
    BYTES,
    FIXED64,
    VARINT,
    Damage,
    MalformedError,
    delimited,
    double,
    fields,
    pieces,
    signed,
    streamed,
    varints,
)


def test_the_fields_of_a_message_come_in_order_with_their_values() -> None:
    content = message((1, 300), (2, "hi")) + fixed64(3, 7) + b"\x25\x01\x00\x00\x00"
    assert list(fields(content)) == [(1, VARINT, 300, b""), (2, BYTES, 0, b"hi"), (3, FIXED64, 7, b""), (4, 5, 1, b"")]


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_numbers_survive(value: int) -> None:
    assert [signed(found) for _, _, found, _ in fields(message((5, value)))] == [value]


def test_a_double_is_read_from_its_bits() -> None:
    assert double(0x3FF8000000000000) == 1.5


def test_groups_are_skipped_with_all_they_hold() -> None:
    group = (
        varint(3 << 3 | 3) + message((1, 1), (2, "x")) + varint(4 << 3 | 3) + varint(4 << 3 | 4) + varint(3 << 3 | 4)
    )
    assert list(fields(group + message((9, 9)))) == [(9, VARINT, 9, b"")]
    assert list(pieces(group + message((9, 9)), Damage())) == [(9, VARINT, 9, b"")]


@pytest.mark.parametrize(
    "content",
    [
        b"\x08",  # no value
        b"\x08\x80",  # half a number
        b"\x08" + b"\xff" * 11,  # more than 64 bits
        b"\x12\x05abc",  # three of five bytes
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length of 2^64 - 1
        b"\x09\x00\x00",  # two of eight bytes
        b"\x25\x00",  # one of four bytes
        b"\x00\x00",  # field 0
        b"\x0e\x00",  # wire type 6
        b"\x0c",  # the end of a group that never began
        b"\x0b",  # a group without its end
        b"\x0b\x14",  # the end of another group
        b"\x0b" * 100,  # too deep
    ],
)
def test_what_is_no_whole_message_is_refused(content: bytes) -> None:
    with pytest.raises(MalformedError):
        list(fields(content))
    damage = Damage()
    list(pieces(content, damage))
    assert damage.count == 1


def test_a_cut_container_gives_what_is_there() -> None:
    damage = Damage()
    content = message((1, "whole"), (1, "cut off"))[:-3]
    assert [inner for _, _, _, inner in pieces(content, damage)] == [b"whole", b"cut "]
    assert damage.count == 1
    assert damage.first == "a field of 7 bytes where 4 are left at byte 9"


def test_a_number_in_a_container_that_is_cut_is_counted_not_raised() -> None:
    damage = Damage()
    assert list(pieces(message((1, "a"), (2, 300))[:-1], damage)) == [(1, BYTES, 0, b"a")]
    assert damage.count == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    damage = Damage()
    lenient = list(pieces(content, damage))
    try:
        strict = list(fields(content))
    except MalformedError:
        assert damage.count
    else:
        assert lenient == strict
        assert not damage.count


def cut(content: bytes, at: list[int]) -> list[bytes]:
    """The content in blocks that end there, empty ones among them."""
    edges = [0, *sorted(place % (len(content) + 1) for place in at), len(content)]
    return [content[begin:end] for begin, end in pairwise(edges)]


PARTS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 2**64 - 1) | st.text(max_size=50)), max_size=8)


@pytest.mark.parametrize("read", [streamed, delimited])
@given(
    content=st.binary(max_size=100) | PARTS.map(lambda parts: message(*parts)),
    at=st.lists(st.integers(0, 200), max_size=6),
)
def test_blocks_give_what_the_whole_gives(
    read: Callable[[Iterable[bytes], Damage], Iterator[Any]], content: bytes, at: list[int]
) -> None:
    whole, parted = Damage(), Damage()
    assert list(read(cut(content, at), parted)) == list(read([content], whole))
    assert parted == whole


def test_of_a_long_container_no_more_than_a_field_and_a_block_is_held() -> None:
    tracemalloc.start()
    blocks = (message((1, "x" * 1000)) * 1000 for _ in range(100))
    assert sum(len(inner) for _, _, _, inner in streamed(blocks, Damage())) == 100_000_000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


def test_messages_that_follow_their_lengths_are_given_up_to_one_that_is_cut() -> None:
    stream = b"".join(varint(len(part)) + part for part in (b"one", b"", b"x" * 200))
    assert list(delimited((stream,), Damage())) == [b"one", b"", b"x" * 200]
    damage = Damage()
    assert list(delimited((stream[:-1],), damage)) == [b"one", b""]
    assert damage == Damage(1, "a message of 200 bytes where 199 are left at byte 7")
    damage = Damage()
    assert list(delimited((b"\x80",), damage)) == []
    assert damage == Damage(1, "the end within a number at byte 0")


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_packed_numbers_are_read_one_by_one(values: list[int]) -> None:
    assert varints(b"".join(varint(value) for value in values)) == values
