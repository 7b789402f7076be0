"""Whole JSON files of AMD's profilers."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect.files import open_file
from tracelode.collect.rocprof_json import document, elements, members, records
from tracelode.collect.sink import Sink
from tracelode.store.archive import Archive
from tracelode.store.errors import UnreadableFile


def read(folder: Path, content: bytes) -> tuple[Any, dict[str, int]]:
    """The value, and the notes by kind."""
    path = folder / "some.json"
    path.write_bytes(content)
    with Archive(folder / "archive").stage() as staging:
        sink = Sink(staging)
        value = document(open_file(path), sink)
        return value, {note.kind: note.count for note in sink.finish()}


def test_numbers_are_exact_and_what_json_does_not_allow_is_text(tmp_path: Path) -> None:
    value, notes = read(tmp_path, b'{"a": 0.1000, "b": 18446744073709551616, "c": NaN, "d": "x\ty"}')
    assert value == {"a": Decimal("0.1000"), "b": 2**64, "c": "NaN", "d": "x\ty"}
    assert notes == {}


@pytest.mark.parametrize(
    ("content", "text", "noted"),
    [
        (b'["\xef\xbf\xbd"]', "\ufffd", {}),
        (b'["\xff"]', "\ufffd", {"invalid-utf8": 1}),
        (b'["\xef\xbf\xbd\xff"]', "\ufffd\ufffd", {"invalid-utf8": 1}),
    ],
    ids=["the replacement character itself", "wrong bytes", "both"],
)
def test_only_bytes_that_are_not_utf8_are_noted(
    tmp_path: Path, content: bytes, text: str, noted: dict[str, int]
) -> None:
    assert read(tmp_path, content) == ([text], noted)


def test_what_is_not_whole_is_refused_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"some\.json: JSON that is cut off or damaged at character 5 of 5"):
        read(tmp_path, b'{"a":')
    with pytest.raises(UnreadableFile, match="cut off or damaged"):
        read(tmp_path, b"[" * 200_000)


@pytest.mark.parametrize("value", [None, 3, "a", [], {}, {"a": None}, {"a": "b"}, {"a": 1}])
def test_what_is_not_there_is_empty(value: object) -> None:
    assert (members(value, "a"), elements(value, "a"), records(value, "a")) == ({}, [], [])


def test_what_is_no_object_among_objects_is_an_empty_one() -> None:
    value = json.loads('{"list": [{"b": 1}, 2, null], "object": {"c": 3}}')
    assert members(value, "object") == {"c": 3}
    assert elements(value, "list") == [{"b": 1}, 2, None]
    assert records(value, "list") == [{"b": 1}, {}, {}]
    assert (members(value, "list"), elements(value, "object")) == ({}, [])
