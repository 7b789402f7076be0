import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect.ingest import read
from tracelode.collect.readers import memory_snapshot
from tracelode.store import Archive, Trace, UnreadableFile

FRAMES = [{"name": "forward", "filename": "model.py", "line": 7}]


def _event(action: str, address: int, size: int, time_us: int, **more: Any) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "time_us": time_us, "stream": 0, "frames": [], **more}


HISTORY = [
    _event("segment_alloc", 4096, 2048, 1),
    _event("alloc", 4096, 512, 2, frames=FRAMES),
    _event("free_completed", 9000, 64, 3),
    _event("free_requested", 4096, 512, 4),
    _event("free_completed", 4096, 512, 5),
    _event("alloc", 4096, 1024, 6),
    {"action": "oom", "device_free": 3, "time_us": 7},
]
SEGMENT = {
    "device": 0,
    "address": 4096,
    "total_size": 2048,
    "stream": 0,
    "blocks": [
        {"address": 4096, "size": 1024, "state": "active_allocated", "frames": []},
        {"address": 5120, "size": 256, "state": "active_allocated", "frames": []},
        {"address": 5376, "size": 768, "state": "inactive", "frames": []},
    ],
}
SNAPSHOT = {"segments": [SEGMENT], "device_traces": [HISTORY], "allocator_settings": {"expandable": False}}


def _read(folder: Path, content: bytes) -> Trace:
    (folder / "snapshot.pickle").write_bytes(content)
    return read(folder / "snapshot.pickle", Archive(folder / "archive"))[0]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_blocks_live_from_their_allocation_to_their_release(tmp_path: Path, protocol: int) -> None:
    trace = _read(tmp_path, pickle.dumps(SNAPSHOT, protocol))
    columns = ("kind", "address", "bytes", "birth_ns", "death_ns", "stack")
    rows = trace.sql(
        f"select {', '.join(columns)} from allocation order by birth_ns nulls last, death_ns, address"
    ).rows()
    assert rows == [
        ("pool", 4096, 2048, 1000, None, None),
        ("tensor", 4096, 512, 2000, 5000, "forward model.py:7"),
        ("tensor", 4096, 1024, 6000, None, None),
        ("tensor", 9000, 64, None, 3000, None),
        ("tensor", 5120, 256, None, None, None),
    ]
    assert trace.sql("select time_ns, kind, json from other").rows() == [(7000, "oom", json.dumps(HISTORY[-1]))]
    assert trace.facts.labels == {"allocator_settings": '{"expandable": false}'}


def test_a_block_given_out_twice_is_noted(tmp_path: Path) -> None:
    history = [_event("alloc", 1, 2, 3), _event("alloc", 1, 2, 4), _event("free_completed", 1, 2, 5)]
    trace = _read(tmp_path, pickle.dumps({"segments": [], "device_traces": [history]}))
    assert trace.sql("select birth_ns, death_ns from allocation order by 1").rows() == [(3000, None), (4000, 5000)]
    assert [note.kind for note in trace.notes] == ["unfreed-block"]


def test_numbers_that_cannot_be_are_left_out_and_counted(tmp_path: Path) -> None:
    history = [_event("alloc", 1 << 70, 2, 3), _event("alloc", 7, 1 << 80, 4), _event("alloc", 8, 16, 5)]
    trace = _read(tmp_path, pickle.dumps({"segments": [], "device_traces": [history]}))
    assert trace.sql("select address, bytes from allocation order by bytes").rows() == [(None, 2), (8, 16)]
    assert [(note.kind, note.count) for note in trace.notes] == [("out-of-range", 2)]


def test_the_size_that_a_block_takes_up_is_told_beside_what_is_known_of_it(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [{}, {"user_metadata": "step 1"}, {"user_metadata": "x" * 1_000_000}]
    history = [_event("alloc", 100 * at, 5, 3, **more) for at, more in enumerate(said)]
    blocks = [{"address": 100 * at, "size": 8, "state": "active_allocated"} for at in range(3)]
    segment = {"device": 0, "address": 0, "total_size": 300, "blocks": blocks}
    trace = _read(tmp_path, pickle.dumps({"segments": [segment], "device_traces": [history]}))
    assert trace.sql("select bytes, args from allocation where kind = 'tensor' order by address").rows() == [
        (5, '{"stream": 0, "block_size": 8}'),
        (5, '{"stream": 0, "user_metadata": "step 1", "block_size": 8}'),
        (5, '"too much to write"'),
    ]


def test_blocks_count_with_the_size_asked_for_whether_or_not_the_history_tells_of_them(tmp_path: Path) -> None:
    # 500 B in a block of 512 B, by the history; 700 B in one of 1,024 B, older than the history: 1,200 B, not 1,524.
    history = [_event("alloc", 4096, 500, 3)]
    blocks = [
        {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated"},
        {"address": 4608, "size": 1024, "requested_size": 700, "state": "active_allocated"},
        {"address": 5632, "size": 512, "requested_size": 0, "state": "inactive"},
    ]
    segment = {"device": 0, "address": 4096, "total_size": 2048, "stream": 0, "blocks": blocks}
    trace = _read(tmp_path, pickle.dumps({"segments": [segment], "device_traces": [history]}))
    assert trace.sql(
        "select kind, bytes, birth_ns, args ->> 'block_size' from allocation order by address, kind"
    ).rows() == [
        ("pool", 2048, None, None),
        ("tensor", 500, 3000, "512"),
        ("tensor", 700, None, "1024"),
    ]
    assert trace.notes == ()


def test_older_blocks_of_which_only_the_rounded_size_is_told_are_counted_and_noted(tmp_path: Path) -> None:
    trace = _read(tmp_path, pickle.dumps(SNAPSHOT))
    assert [(note.kind, note.count, note.example) for note in trace.notes] == [("rounded-size", 1, "5120")]


class _Runs:
    """What an attacker would pickle: loading it would run a command."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch executed",)


@pytest.mark.parametrize("where", ["segments", "device_traces", "other"])
def test_nothing_a_pickle_names_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableFile, match="which a snapshot never does"):
        _read(tmp_path, pickle.dumps({"segments": [], "device_traces": []} | {where: [_Runs()]}))
    assert not (tmp_path / "executed").exists()
    assert list(tmp_path.glob("archive/traces/*")) == []


def test_a_few_bytes_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    content = b"\x80\x02}X\x08\0\0\0segmentsr\xff\xff\xff\xff]s."
    with pytest.raises(UnreadableFile, match="byte 16 asks for more memory than it can need"):
        _read(tmp_path, content)


def test_one_object_named_often_or_within_itself_fills_no_memory(tmp_path: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    laughs: Any = "ha"
    for _ in range(60):
        laughs = [laughs, laughs]
    history = [{"action": laughs}, {"action": circle}, {"action": "odd", "size": 1 << 40_000}]
    frames = [{"name": laughs, "filename": circle, "line": 1 << 40_000}] * 5_000
    history.append(_event("alloc", 1, 2, 3, frames=frames, compile_context=laughs))
    trace = _read(tmp_path, pickle.dumps({"segments": [], "device_traces": [history], "more": laughs}))
    assert trace.sql("select json from other").rows() == [
        ('"too much to write"',),
        ('"too much to write"',),
        ('"not to be written as JSON"',),
    ]
    ((stack, args),) = trace.sql("select stack, args from allocation").rows()
    assert stack.split("\n") == ["a list a list:a int"] * 1_000
    assert args == '"too much to write"'
    assert trace.facts.labels == {"more": '"too much to write"'}


@pytest.mark.parametrize("place", ["stacks", "others", "labels"])
def test_texts_that_are_all_within_bounds_cannot_fill_the_memory_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(memory_snapshot, "RATIO_FROM", 1 << 20)
    word = "x" * 10_000
    frames = [{"name": word, "filename": "f", "line": 1}] * 1_000
    long = [word] * 90
    history = [_event("alloc", at, 2, 3, frames=frames) for at in range(5)] if place == "stacks" else []
    history += [{"action": "odd", "what": long}] * 40 if place == "others" else []
    more = {f"label {at}": long for at in range(40)} if place == "labels" else {}
    with pytest.raises(UnreadableFile, match=r"snapshot\.pickle: grows more than 1000 times when written out"):
        _read(tmp_path, pickle.dumps({"segments": [], "device_traces": [history], **more}))
    assert list(tmp_path.glob("archive/traces/*")) == []


def test_damaged_pickles_are_refused_in_words(tmp_path: Path) -> None:
    content = pickle.dumps(SNAPSHOT, 4)
    for cut in range(20, len(content) - 1, 17):
        with pytest.raises(UnreadableFile, match=r"snapshot\.pickle: (not a whole memory snapshot|not a trace)"):
            _read(tmp_path, content[:cut])
    outcomes: set[str] = set()
    for position in range(0, len(content), 7):
        flipped = content[:position] + bytes([content[position] ^ 0x41]) + content[position + 1 :]
        try:
            notes = {note.kind for note in _read(tmp_path, flipped).notes}
        except UnreadableFile as error:
            assert "snapshot.pickle: " in error.message
            assert error.hint
            notes = {"refused"}
        outcomes |= notes or {"read"}
    assert outcomes == {
        "refused",
        "read",
        "bad-entry",
        "no-history",
        "no-place",
        "rounded-size",
        "unfreed-block",
        "untimed-entry",
    }


@pytest.mark.parametrize("more", [b"\n", pickle.dumps(SNAPSHOT), b"\x8b\xff\xff\xff\x7f"])
def test_content_behind_the_end_is_told(tmp_path: Path, more: bytes) -> None:
    whole = pickle.dumps(SNAPSHOT)
    trace, alone = _read(tmp_path, whole + more), _read(tmp_path, whole)
    assert trace.rows["allocation"] == alone.rows["allocation"]
    (note,) = [note for note in trace.notes if note not in alone.notes and note.kind == "after-end"]
    assert note.example == f"{len(more)} bytes from byte {len(whole)} on"


def test_entries_that_say_too_little_are_kept_and_counted(tmp_path: Path) -> None:
    sizeless = {key: value for key, value in _event("alloc", 5, 2, 3).items() if key != "size"}
    timeless = {key: value for key, value in _event("alloc", 6, 2, 3).items() if key != "time_us"}
    asked = {"action": "free_requested", "addr": 6}
    trace = _read(tmp_path, pickle.dumps({"segments": [], "device_traces": [[sizeless, timeless, asked, 7], None]}))
    assert trace.sql("select address, bytes, birth_ns from allocation").rows() == [(6, 2, None)]
    kept = trace.sql("select time_ns, kind, json from other order by kind").rows()
    assert kept == [(None, "None", "7"), (3000, "alloc", json.dumps(sizeless))]
    assert {note.kind: note.count for note in trace.notes} == {"bad-entry": 2, "no-history": 1, "untimed-entry": 1}


def test_what_the_state_leaves_open_is_kept_and_counted(tmp_path: Path) -> None:
    blocks = [{"address": 4096, "size": 1024}, {"address": 5120, "size": 256, "state": "active_allocated"}, 7]
    segments = [
        {**SEGMENT, "blocks": blocks},
        {"address": 1, "total_size": 2, "blocks": []},
        {"device": 0, "address": 3, "total_size": 4},
    ]
    trace = _read(tmp_path, pickle.dumps({"segments": segments, "device_traces": []}))
    assert trace.sql("select kind, address, bytes from allocation order by all").rows() == [
        ("pool", 3, 4),
        ("pool", 4096, 2048),
        ("tensor", 5120, 256),
    ]
    kept = trace.sql("select kind, json from other order by all").rows()
    assert kept == [
        ("block", "7"),
        ("block", json.dumps(blocks[0])),
        ("pool", json.dumps(segments[1])),
        ("segment", json.dumps(segments[2])),
    ]
    assert {note.kind: note.count for note in trace.notes} == {"bad-entry": 3, "no-place": 1, "rounded-size": 1}


def test_a_snapshot_without_a_history_says_so(tmp_path: Path) -> None:
    trace = _read(tmp_path, pickle.dumps({"segments": [SEGMENT]}))
    assert trace.sql("select kind, bytes, birth_ns from allocation order by bytes").rows() == [
        ("tensor", 256, None),
        ("tensor", 1024, None),
        ("pool", 2048, None),
    ]
    assert sorted((note.kind, note.count) for note in trace.notes) == [("no-history", 1), ("rounded-size", 2)]


@pytest.mark.corpus
def test_real_snapshots_have_the_figures_of_the_truth(corpus: Path, tmp_path: Path) -> None:
    truth = json.loads((corpus / "TRUTH.json").read_text())
    checked = 0
    for name, told in truth.items():
        if told["format"] != "memory-snapshot":
            continue
        checked += 1
        trace, _ = read(corpus / name, Archive(tmp_path / str(checked)))
        actions = told.get("actions") or {}
        query = """
        select
            count(*) filter (kind = 'tensor' and birth_ns is not null) as births,
            count(*) filter (kind = 'tensor' and death_ns is not null) as deaths,
            coalesce(sum(bytes) filter (kind = 'tensor' and birth_ns is not null), 0) as born_bytes,
            coalesce(sum(held) filter (kind = 'tensor' and death_ns is null), 0) as live_bytes
        from (select *, coalesce((args ->> 'block_size')::bigint, bytes) as held from allocation)
        """
        births, deaths, born_bytes, live_bytes = trace.sql(query).row(0)
        assert births == actions.get("alloc", 0)
        assert deaths == actions.get("free_completed", 0)
        assert born_bytes == (told.get("alloc_bytes") or 0)
        assert live_bytes == told["allocated_bytes"]
    assert checked >= 3
