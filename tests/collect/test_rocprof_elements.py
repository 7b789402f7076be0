import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracelode.collect import packing, rocprof_elements
from tracelode.collect.chrome_heads import METADATA, NOWHERE, SPAN, Heads
from tracelode.collect.files import open_file
from tracelode.collect.rocprof_elements import Timeline
from tracelode.collect.rocprof_rows import Rows
from tracelode.collect.sink import Sink
from tracelode.store import Archive, UnreadableFile

FIRST, SECOND = {"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "name": "b", "ts": 2}


def text(*events: str) -> str:
    return '{"traceEvents":[{}\n' + "".join(f",{event}\n" for event in events) + '],\n"otherData": {"k": "v"}}\n'


def every(heads: Heads) -> Any:
    return np.ones(len(heads.clean), np.bool_)


class Told:
    """The events of a file, the members around them, the notes by kind, and what is in `other`."""

    def __init__(self, folder: Path, content: str | bytes) -> None:
        (folder / "t.json").write_bytes(content if isinstance(content, bytes) else content.encode())
        with Archive(folder / "archive").stage() as staging:
            sink = Sink(staging)
            rows = Rows(sink)
            timeline = Timeline(open_file(folder / "t.json"), rows)
            self.events, self.members = list(timeline.events(every)), timeline.members
            rows.finish()
            self.others = sink.rows.get("other", 0)
            self.notes = {note.kind: note.count for note in sink.finish()}


WHOLE = text(json.dumps(FIRST), json.dumps(SECOND))


def test_a_whole_file_gives_its_events_and_what_stands_around_them(tmp_path: Path) -> None:
    told = Told(tmp_path, WHOLE)
    assert (told.events, told.members, told.notes) == ([FIRST, SECOND], {"otherData": {"k": "v"}}, {})


def test_a_well_formed_file_may_stand_on_one_line(tmp_path: Path) -> None:
    told = Told(tmp_path, json.dumps([{}, FIRST, {"args": [{"ph": "M"}, {}]}, SECOND]))
    assert told.events == [FIRST, {"args": [{"ph": "M"}, {}]}, SECOND]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "nan", "-inf"])
def test_numbers_that_are_none_are_kept_as_text(tmp_path: Path, number: str) -> None:
    events = [json.dumps(event).replace("1", number).replace("2", number) for event in (FIRST, SECOND)]
    told = Told(tmp_path, text(*events))
    kept = {"nan": "NaN", "-inf": "-Infinity"}.get(number, number)
    assert told.events == [FIRST | {"ts": kept}, SECOND | {"ts": kept}]
    assert told.members == {"otherData": {"k": "v"}}
    assert told.notes == {"non-finite": 2}


def test_a_comma_that_is_missing_between_two_elements_loses_neither(tmp_path: Path) -> None:
    third = {"ph": "X", "ts": 3, "args": {"a": {}}}
    whole = text(json.dumps(FIRST), json.dumps(SECOND), json.dumps(third))
    told = Told(tmp_path, whole.replace(f",{json.dumps(SECOND)}", json.dumps(SECOND)))
    assert told.events == [FIRST, SECOND, third]
    assert (told.others, told.notes, told.members) == (0, {"mended": 1}, {"otherData": {"k": "v"}})


def test_names_that_come_again_in_an_element_are_counted_and_those_around_the_list_are_not(tmp_path: Path) -> None:
    once, long = '"ph": "X", "ts": 1', ", ".join(f'"name {n}": 0' for n in range(70))
    twice = [f'{{{once}, "ts": 2}}', f'{{{once}, "args": {{"a": 1, "b": {{}}, "a": 2}}}}', f"{{{once}, {long}}}"]
    told = Told(tmp_path, text(*twice, f"{{{once}}}").replace('"k": "v"', '"k": "u", "k": "v"'))
    assert [event.get("ts (2)") for event in told.events] == [1, None, None, None]
    assert told.events[1]["args"] == {"a": 2, "b": {}, "a (2)": 1}
    assert (told.notes, told.members) == ({"duplicate-key": 2}, {"otherData": {"k": "v", "k (2)": "u"}})


def test_a_cut_file_is_read_by_its_elements(tmp_path: Path) -> None:
    told = Told(tmp_path, WHOLE[: WHOLE.index('"b"') + 2])
    assert told.events == [FIRST]
    assert (told.others, told.notes) == (1, {"damaged": 1, "truncated": 1})


def test_a_damaged_element_does_not_mend_the_file_as_a_whole(tmp_path: Path) -> None:
    events = [json.dumps(FIRST), json.dumps(SECOND).replace('"b"', '"b', 1), json.dumps(SECOND)]
    told = Told(tmp_path, text(*events))
    assert told.events == [FIRST, {"ph": "X", "name": "b", "ts": 2}, SECOND]
    assert told.notes == {"mended": 1}


THIRD = {"ph": "X", "name": "c", "ts": 3}
THREE = text(*(json.dumps(event) for event in (FIRST, SECOND, THIRD)))


def filled(begin: str, end: str, fill: bytes) -> bytes:
    """Three events, the text from the one place to the other overwritten."""
    first, last = THREE.index(begin), THREE.index(end)
    return THREE[:first].encode() + fill + THREE[last:].encode()


FILLS = {"few": b"\0" * 4, "block": b"\0" * 4096, "mixed": b"\xff\xfe\x01\xff", "ones": b"\xff" * 4096}


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
@pytest.mark.parametrize(
    ("begin", "end"),
    [('me": "a"', 'me": "b"'), ('a", "ts": 1', 'b", "ts": 2'), ('"name": "a"', '"name": "b"'), ("}\n,", '"b"')],
    ids=["in names", "in texts", "between members", "behind an event"],
)
def test_two_events_joined_by_a_hole_are_not_mended_into_one(tmp_path: Path, begin: str, end: str, fill: bytes) -> None:
    told = Told(tmp_path, filled(begin, end, fill))
    assert (told.events[-1], told.others, told.notes["damaged"]) == (THIRD, 1, 1)
    assert not {"mended", "control-character"} & told.notes.keys()


@pytest.mark.parametrize("fill", [b"\0" * 3, b"\xff" * 63, b"\n\t\r\n\t"], ids=["few", "another encoding", "blanks"])
def test_some_bytes_that_are_no_text_are_no_hole(tmp_path: Path, fill: bytes) -> None:
    told = Told(tmp_path, WHOLE.encode().replace(b'"a"', b'"a' + fill + b'"'))
    assert told.events == [FIRST | {"name": "a" + fill.decode(errors="replace")}, SECOND]
    assert "damaged" not in told.notes


def test_a_hole_behind_the_events_is_told_and_what_is_around_it_is_kept(tmp_path: Path) -> None:
    told = Told(tmp_path, WHOLE.replace('"v"', '"v' + "\0" * 4 + '"'))
    assert (told.events, told.members) == ([FIRST, SECOND], {"otherData": {"k": "v" + "\0" * 4}})
    assert told.notes == {"metadata-damaged": 1}


def test_what_is_no_object_is_kept_whether_the_file_is_whole_or_not(tmp_path: Path) -> None:
    told = Told(tmp_path, WHOLE.replace("{}", "{}, 7, [1]"))
    assert (told.events, told.others, told.notes) == ([FIRST, SECOND], 2, {"damaged": 2})
    told = Told(tmp_path, text(json.dumps(FIRST), "{]", json.dumps(SECOND)))
    assert (told.events, told.others, told.notes) == ([FIRST, SECOND], 1, {"damaged": 1})


def test_damage_before_the_first_event_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="before the first event"):
        Told(tmp_path, '{"traceEvents":[{}\n,{"ph"')


ODD = [
    json.dumps({"ph": "X", "pid": "12", "dur": 3, "args": {"pid": 9, "ph": "M"}}),
    '{"ph": "M", "ph": "X", "pid": 1, "pid": -4}',
    '{"ph": "\\u0058", "pid": 5}',
    '{"p\\u0068": "X", "name": "\xe9\\"", "pid": "6"}',
    '{"pid": "0x10", "ph": "X"}',
    '{"name": "no phase"}',
]


def test_the_last_of_two_values_counts_and_another_spelling_is_looked_at(tmp_path: Path) -> None:
    found: list[tuple[int, int, bool]] = []

    def wanted(heads: Heads) -> Any:
        columns = (heads.phase, heads.lane, heads.clean)
        found.extend(zip(*(column.tolist() for column in columns), strict=True))
        return heads.phase == METADATA

    (tmp_path / "t.json").write_text(text(*ODD))
    with Archive(tmp_path / "archive").stage() as staging:
        timeline = Timeline(open_file(tmp_path / "t.json"), Rows(Sink(staging)))
        events = list(timeline.events(wanted))
    assert [one for one in found if one[2]] == [
        (0, NOWHERE, True),
        (SPAN, 12, True),
        (SPAN, -4, True),
        (0, NOWHERE, True),
    ]
    assert [event["pid"] for event in events] == [5, "6", "0x10"]


CONTENTS = {
    "whole": text(*ODD, json.dumps(FIRST)).encode(),
    "members first": b'{"k": [{"traceEvents": 1}], "traceEvents": [{}, {"ph": "X", "name": "\\ud83d\\ude00"}]}',
    "invalid": text(json.dumps(FIRST), '{"name": "?"}').encode().replace(b"?", b"\xe2\x82\xff"),
    "cut": text(*ODD, json.dumps(FIRST))[:-60].encode(),
    "damaged": text(json.dumps(FIRST), '{"a": é}', "{]\n ] ,{", json.dumps(SECOND), '{"b": "x\n]\n}"}').encode(),
    "hole": filled('a", "ts": 1', 'b", "ts": 2', b"\0" * 40),
    "closed twice": WHOLE.encode() + b'  \n ] \n\n ,"x": 1',
    "more behind": WHOLE[:-20].encode() + b',\n"broken',
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_file_read_in_small_blocks_gives_the_same(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = vars(Told(tmp_path, content))
    monkeypatch.setattr(rocprof_elements, "PIECES", 2)
    for size in (1, 2, 3, 5, 16, 50):
        monkeypatch.setattr(packing, "BLOCK", size)
        assert vars(Told(tmp_path, content)) == wanted, size


def peak(folder: Path, events: int, *, cut: int) -> int:
    """Most memory that all events of a file take, one after the other."""

    def lines() -> Iterator[str]:
        for number in range(events):
            yield json.dumps({"ph": "X", "name": "hipLaunchKernel", "ts": number, "args": {"more": "x" * 200}})

    content = text(*lines())
    (folder / "t.json").write_text(content[: len(content) - cut])
    with Archive(folder / "archive").stage() as staging:
        rows = Rows(Sink(staging))
        tracemalloc.start()
        try:
            timeline = Timeline(open_file(folder / "t.json"), rows)
            assert sum(1 for _ in timeline.events(every)) == events
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("cut", [0, 30], ids=["whole", "cut"])
def test_memory_does_not_grow_with_the_events(tmp_path: Path, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BLOCK", 1 << 13)
    monkeypatch.setattr(rocprof_elements, "PIECES", 50)
    peak(tmp_path, 100, cut=cut)  # what is made once
    few, many = (peak(tmp_path, events, cut=cut) for events in (1000, 8000))
    assert many < few * 1.5
