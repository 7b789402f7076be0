import json
import tracemalloc
from collections.abc import Iterable
from decimal import Decimal
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect.graph_json import Document, whole_characters
from tracelode.collect.text_window import decoded

KEYS = frozenset({"nodes"})
TEXTS = st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda value: st.lists(value, max_size=3) | st.dictionaries(TEXTS, value, max_size=3),
    max_leaves=5,
)


def read(text: str) -> tuple[list[Any], Document]:
    return read_pieces((text,))


def read_pieces(pieces: Iterable[str]) -> tuple[list[Any], Document]:
    document = Document(pieces, KEYS)
    return list(document.elements()), document


def test_members_before_and_after_the_list_are_taken_with_its_elements() -> None:
    elements, document = read('{"schema": "1.0.1", "nodes": [{"id": 1}, {"id": 2}], "finish_ts": 1.50, "more": [3]}')
    assert elements == [{"id": 1}, {"id": 2}]
    assert document.members == {"schema": "1.0.1", "finish_ts": Decimal("1.50"), "more": [3]}
    assert document.closed


def test_keys_that_come_again_and_names_that_are_no_json_are_counted() -> None:
    elements, document = read(
        '{"s": 1, "nodes": [{"id": 1, "id": 2}, {"a": {"b": 1, "b": 2}}, {}], "s": 2, "t\\e": 3, "s": 4}'
    )
    assert elements == [{"id": 2, "id (2)": 1}, {"a": {"b": 2, "b (2)": 1}}, {}]
    assert document.members == {"s": 4, "s (2)": 1, "s (3)": 2, "t\\e": 3}
    assert (document.repeated, document.first_repeated) == (4, "at character 19")
    assert (document.loose, document.closed) == (1, True)


@settings(max_examples=60)
@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.lists(VALUES, max_size=4), st.booleans())
def test_any_document_is_read_as_a_json_reader_reads_it(members: dict[str, Any], nodes: list[Any], late: bool) -> None:
    members.pop("nodes", None)
    parts = {"nodes": nodes} | members if late else members | {"nodes": nodes}
    elements, document = read(json.dumps(parts))
    assert (elements, document.members, document.closed) == (nodes, members, True)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"node": []}', '{"nodes": 5}', '{"a": {"nodes": [1]}}', '"nodes": [1]']
)
def test_what_has_no_such_list_gives_nothing(text: str) -> None:
    elements, document = read(text)
    assert (elements, document.key, document.closed) == ([], None, False)


def test_a_cut_document_gives_what_stands_before_the_cut() -> None:
    text = '{"nodes": [{"id": 1}, {"id": 2, "name": "a]}"}, {"id": 3}], "finish_ts": 4}'
    for cut in range(len(text)):
        elements, document = read(text[:cut])
        assert elements == [{"id": 1}, {"id": 2, "name": "a]}"}, {"id": 3}][: len(elements)]
        assert not document.closed


def test_an_element_that_is_no_json_is_passed_over_and_counted() -> None:
    long = "9" * 5000  # Python makes no number of that many digits
    deep = "[" * 3000 + "]" * 3000
    text = f'{{"nodes": [{{"id": 1}}, {{"id": }}, {{"id": {long}}}, {deep}, {{"id": 2}}], "finish_ts": 4}}'
    elements, document = read(text)
    assert elements == [{"id": 1}, {"id": 2}]
    assert (document.damaged, document.first_damaged) == (3, "at character 22")
    assert (document.members, document.closed) == ({"finish_ts": 4}, True)


@pytest.mark.parametrize("junk", ["x", "}", ")", "nul", '"', "-"])
def test_junk_between_elements_ends_in_a_count_or_an_open_end(junk: str) -> None:
    elements, document = read('{"nodes": [{"id": 1}, ' + junk + ' ], "finish_ts": 4}')
    assert [one for one in elements if isinstance(one, dict)] == [{"id": 1}]
    assert document.damaged or not document.closed


def test_halves_of_characters_are_replaced_and_whole_ones_kept() -> None:
    for text, expected in (
        (r'"\ud83d\ude00"', "\N{GRINNING FACE}"),
        (r'"\ud83dx"', "\N{REPLACEMENT CHARACTER}x"),
        (r'"\uDE00\ud83d"', "\N{REPLACEMENT CHARACTER}" * 2),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d\n"', "\\\N{REPLACEMENT CHARACTER}\n"),
    ):
        assert json.loads(whole_characters(text)) == expected


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ('{"a": 1, "nodes": [1, 2], "b": 3}', 0),
        ('{"a": 1 "nodes": [1, 2] "b": 3}', 2),
        ('{,"a": 1,, "nodes": [,1 2,], "b": 3,}', 6),
        ('{"a": 1\u00a0, "nodes": [1, 2], "b": 3}', 1),
    ],
)
def test_commas_too_few_and_too_many_are_counted(text: str, loose: int) -> None:
    elements, document = read(text)
    assert (elements, document.members, document.closed) == ([1, 2], {"a": 1, "b": 3}, True)
    assert document.loose == loose
    assert (document.first_loose is None) == (not loose)


SPLIT = """\ufeff {"schema": "1\\ud83d\\ude00 é€😀", "a": [-1.5e3, true], "nodes" : [{"id": 12, "t": "x]}\\\\"}, null,
 -12.75e-2, "\\ud83d \\"{", {"id": }, {"id": 3 , "deep": {"a": [[]]}} {"id": NaN}], "finish_ts": 4, "é": {"x": 1}}  """
JUNK = st.sampled_from(
    ["", "{", "}", "[", "]", '"', ",", ":", "\\", "\\ud83d", "9" * 5000, "1e" + "9" * 20, "-", " " * 70]
)


def same(pieces: Iterable[str], text: str) -> bool:
    """Whether the pieces give what the text gives, in all that a document tells."""
    found, parted = read_pieces(pieces)
    expected, whole = read(text)
    return repr((found, parted)) == repr((expected, whole))


def test_a_document_split_at_any_byte_is_the_same_document() -> None:
    content = SPLIT.encode()
    elements, document = read(SPLIT)
    assert (len(elements), document.damaged, document.loose, document.closed) == (6, 1, 1, True)
    assert document.members["schema"] == "1\N{GRINNING FACE} é€\N{GRINNING FACE}"
    for at in range(len(content) + 1):
        assert same(decoded((content[:at], content[at:])), SPLIT), at


@given(st.integers(0, len(SPLIT)), st.integers(0, 12), JUNK, st.integers(1, 40))
def test_a_damaged_document_in_pieces_is_the_same_as_in_one(at: int, lost: int, junk: str, length: int) -> None:
    text = SPLIT[:at] + junk + SPLIT[at + lost :]
    assert same((text[begin : begin + length] for begin in range(0, len(text), length)), text)


@pytest.mark.parametrize(
    ("first", "count", "damaged"),
    [
        ('{"id": 0}', 10_001, 0),
        ('{"id": 0, {"a": [}', 0, 1),  # where its brackets are closed the list is over
        ('{"id": 1e' + "9" * 20 + "}", 10_000, 1),
    ],
)
def test_of_a_long_document_no_more_than_an_element_is_held(first: str, count: int, damaged: int) -> None:
    node = ', {"id": 1, "name": "' + "x" * 1000 + '"}'
    tracemalloc.start()
    document = Document(chain((f'{{"nodes": [{first}',), (node * 10 for _ in range(1000)), ("]}",)), KEYS)
    taken = sum(1 for _ in document.elements())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (taken, document.damaged) == (count, damaged)
    assert most < 1_000_000


def test_a_number_beyond_any_decimal_is_damage() -> None:
    elements, document = read('{"far": 5, "nodes": [{"id": 1e99999999999999999999}, {"id": 1e999}]}')
    assert elements == [{"id": Decimal("1e999")}]
    assert (document.damaged, document.closed) == (1, True)
