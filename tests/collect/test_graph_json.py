import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect.graph_json import Document, whole_characters

KEYS = frozenset({"nodes"})
TEXTS = st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda value: st.lists(value, max_size=3) | st.dictionaries(TEXTS, value, max_size=3),
    max_leaves=5,
)


def read(text: str) -> tuple[list[Any], Document]:
    document = Document(text, KEYS)
    return list(document.elements()), document


def test_members_before_and_after_the_list_are_taken_with_its_elements() -> None:
    elements, document = read('{"schema": "1.0.1", "nodes": [{"id": 1}, {"id": 2}], "finish_ts": 1.50, "more": [3]}')
    assert elements == [{"id": 1}, {"id": 2}]
    assert document.members == {"schema": "1.0.1", "finish_ts": Decimal("1.50"), "more": [3]}
    assert document.closed


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
