import json
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect import rocprof_elements
from tracelode.collect.files import open_file
from tracelode.collect.rocprof_elements import Timeline, read_timeline
from tracelode.collect.rocprof_rows import Rows
from tracelode.collect.sink import Sink
from tracelode.store import Archive, UnreadableFile

FIRST, SECOND = {"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "name": "b", "ts": 2}


def text(*events: str) -> str:
    return '{"traceEvents":[{}\n' + "".join(f",{event}\n" for event in events) + '],\n"otherData": {"k": "v"}}\n'


def told(folder: Path, content: str) -> tuple[Timeline, dict[str, int]]:
    (folder / "t.json").write_text(content)
    with Archive(folder / "archive").stage() as staging:
        sink = Sink(staging)
        timeline = read_timeline(open_file(folder / "t.json"), Rows(sink))
        return timeline, {note.kind: note.count for note in sink.finish()}


WHOLE = text(json.dumps(FIRST), json.dumps(SECOND))


def test_a_whole_file_is_read_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    decode = json.JSONDecoder.decode

    def counted(self: json.JSONDecoder, s: str) -> Any:
        passes.append(len(s))
        return decode(self, s)

    monkeypatch.setattr(json.JSONDecoder, "decode", counted)
    timeline, notes = told(tmp_path, WHOLE)
    assert (timeline.events, timeline.members, notes) == ([FIRST, SECOND], {"otherData": {"k": "v"}}, {})
    assert passes == [len(WHOLE)]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "nan", "-inf"])
def test_numbers_that_are_none_are_kept_as_text(tmp_path: Path, number: str) -> None:
    events = [json.dumps(event).replace("1", number).replace("2", number) for event in (FIRST, SECOND)]
    timeline, notes = told(tmp_path, text(*events))
    kept = {"nan": "NaN", "-inf": "-Infinity"}.get(number, number)
    assert timeline.events == [FIRST | {"ts": kept}, SECOND | {"ts": kept}]
    assert timeline.members == {"otherData": {"k": "v"}}
    assert notes == {"non-finite": 2 if number.islower() else 1}


def test_a_cut_file_is_read_by_its_elements_and_never_tried_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[bytes] = []
    load = rocprof_elements.load

    def counted(raw: bytes) -> Any:
        tried.append(raw)
        return load(raw)

    monkeypatch.setattr(rocprof_elements, "load", counted)
    timeline, notes = told(tmp_path, WHOLE[: WHOLE.index('"b"') + 2])
    assert timeline.events[0] == FIRST
    assert notes["truncated"] == 1
    assert all(raw.startswith(b'{"ph"') for raw in tried)


def test_a_damaged_element_does_not_mend_the_file_as_a_whole(tmp_path: Path) -> None:
    events = [json.dumps(FIRST), json.dumps(SECOND).replace('"b"', '"b', 1), json.dumps(SECOND)]
    timeline, notes = told(tmp_path, text(*events))
    assert timeline.events == [FIRST, {"ph": "X", "name": "b", "ts": 2}, SECOND]
    assert notes == {"mended": 1}


def test_damage_before_the_first_event_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="before the first event"):
        told(tmp_path, '{"traceEvents":[{}\n,{"ph"')
