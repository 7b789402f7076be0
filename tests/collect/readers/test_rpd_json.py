import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Told, damaged, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import rpd_json
from tracelode.store.errors import UnreadableFile
from tracelode.store.health import UNRELIABLE

LANES = [
    {"name": "process_name", "ph": "M", "pid": "2", "args": {"name": "GPU2"}},
    {"name": "process_sort_index", "ph": "M", "pid": "2", "args": {"sort_index": "1000002"}},
    {"name": "thread_name", "ph": "M", "pid": "70", "tid": "71", "args": {"name": "Hip 71"}},
    {"name": "thread_sort_index", "ph": "M", "pid": "70", "tid": "71", "args": {"sort_index": "142"}},
]


def span(pid: int, tid: int, name: str, ts: str, dur: str, desc: str) -> dict[str, Any]:
    return {"pid": str(pid), "tid": str(tid), "name": name, "ts": ts, "dur": dur, "ph": "X", "args": {"desc": desc}}


KERNEL = span(2, 1, "gemm(float*)", "8306017670485", "30", "KernelExecution")
CALL = span(70, 71, "hipLaunchKernel", "8306017670400", "12", "stream=1")


def text(*events: dict[str, Any]) -> str:
    return "[ {}\n" + "".join(f",{json.dumps(event)}\n" for event in (*LANES, *events)) + "]\n"


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(content: str | bytes) -> Told:
        path = tmp_path / "result.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(rpd_json, path, tmp_path)

    return tell


def test_work_of_devices_and_calls_of_the_host_are_read(tell: Callable[..., Told]) -> None:
    copy = span(2, 0, "CopyHostToDevice", "8306017670500", "7", "CopyHostToDevice")
    fill = span(2, 0, "FillBuffer", "8306017670510", "1", "FillBuffer")
    own = span(70, 72, "OpTable::writeRows", "8306017670600", "3", "count=1 | remaining=0")
    told = tell(text(KERNEL, copy, fill, CALL, own))
    place = {"process": 70, "device": 2}
    first = 8306017670485000
    assert told["kernel"] == [
        {**place, "stream": 1, "start_ns": first, "end_ns": first + 30_000, "name": "gemm(float*)"}
    ]
    assert told["copy"] == [
        {**place, "stream": 0, "start_ns": first + 15_000, "end_ns": first + 22_000, "kind": "HtoD"}
    ]
    assert told["fill"] == [{**place, "stream": 0, "start_ns": first + 25_000, "end_ns": first + 26_000}]
    assert [(r["thread"], r["name"], r["kind"], r["args"]) for r in told["api"]] == [
        (71, "hipLaunchKernel", "runtime", '{"desc": "stream=1"}'),
        (72, "OpTable::writeRows", "profiler", '{"desc": "count=1 | remaining=0"}'),
    ]
    assert told["process"] == [{"process": 70, "pid": 70}]
    assert told["device"] == [{"process": 70, "device": 2, "vendor": "amd"}]
    assert told["track"] == [{"process": 70, "track": 71, "name": "Hip 71", "kind": "thread"}]
    assert "other" not in told.tables


def test_a_marker_is_a_call_as_in_rpd_files_and_a_range(tell: Callable[..., Told]) -> None:
    mark = {"pid": "70", "tid": "71", "name": "here", "ts": "5", "ph": "i", "s": "p", "args": {"desc": "here"}}
    frame = span(2, 1, "step", "8", "4", "UserMarker frame: 2 ops")
    told = tell(text(span(70, 71, "step", "3", "9", "step"), mark, frame))
    assert [(r["name"], r["kind"], r["start_ns"], r["end_ns"]) for r in told["api"]] == [
        ("step", "marker", 3000, 12000)
    ]
    assert [(r["name"], r["kind"], r["start_ns"], r["end_ns"], r.get("device")) for r in told["range"]] == [
        ("step", "annotation", 3000, 12000, None),
        ("here", "mark", 5000, 5000, None),
        ("step", "device_annotation", 8000, 12000, 2),
    ]
    assert "kernel" not in told.tables


def test_counters_and_arrows_are_kept(tell: Callable[..., Told]) -> None:
    told = tell(
        text(
            KERNEL,
            CALL,
            {"pid": "2", "name": "QueueDepth", "ph": "C", "ts": 7, "args": {"depth": 3}},
            {"pid": "0", "name": "Allocated Memory", "ph": "C", "ts": 8, "args": {"depth": 64}},
            {"pid": "70", "tid": "71", "cat": "api_op", "name": "api_op", "ts": "4", "id": "1", "ph": "s"},
            {"pid": "2", "tid": "1", "cat": "api_op", "name": "api_op", "ts": "5", "id": "1", "ph": "f", "bp": "e"},
        )
    )
    assert sorted(told["counter"], key=lambda r: r["time_ns"]) == [
        {"process": 70, "device": 2, "name": "QueueDepth", "time_ns": 7000, "value": 3.0},
        {"process": 70, "name": "Allocated Memory", "time_ns": 8000, "value": 64.0, "unit": "bytes"},
    ]
    assert [(r["process"], r["track"], r["time_ns"], r["id"], r["phase"]) for r in told["flow"]] == [
        (70, 71, 4000, 1, "s"),
        (70, 1, 5000, 1, "f"),
    ]


def test_a_file_that_ends_early_gives_what_it_holds_and_says_so(tell: Callable[..., Told]) -> None:
    whole = text(KERNEL, CALL, CALL)
    told = tell(whole[:-40])
    assert (len(told["kernel"]), len(told["api"])) == (1, 1)
    assert told.counts().keys() >= {"truncated"}


def test_a_damaged_event_is_kept_as_it_stood(tell: Callable[..., Told]) -> None:
    told = tell(text(KERNEL, CALL).replace('"ts": "8306017670485"', '"ts": }"8306017670485"'))
    assert told.counts()["damaged"] == 1
    assert "gemm(float*)" in told["other"][0]["json"]
    assert [r["name"] for r in told["api"]] == ["hipLaunchKernel"]


def test_two_arrows_joined_by_a_hole_are_no_arrow_and_make_counts_unreliable(tell: Callable[..., Told]) -> None:
    begin = {"pid": "70", "tid": "71", "cat": "api_op", "name": "api_op", "ts": "4", "id": "1", "ph": "s"}
    end = {"pid": "2", "tid": "1", "cat": "api_op", "name": "api_op", "ts": "5", "id": "1", "ph": "f", "bp": "e"}
    whole = text(KERNEL, CALL, begin, end, begin | {"id": "2"}, end | {"id": "2"})
    first, last = whole.index('at": "api_op"'), whole.rindex('"ts": "4", "id": "2"')
    told = tell(whole[:first] + "\0" * (last - first) + whole[last:])
    assert [(row["id"], row["phase"]) for row in told["flow"]] == [(2, "f")]
    assert (told.counts()["damaged"], len(told["other"])) == (1, 1)
    assert "mended" not in told.notes
    assert "damaged" in UNRELIABLE


def test_damage_gives_rows_or_an_unreadable_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(text(KERNEL, CALL, span(70, 71, "é\\u00e9", "3", "9", "step")))
    outcomes: set[str] = set()
    for at, content in enumerate(damaged(path, 20)):
        file = tmp_path / f"damaged{at}.json"
        file.write_bytes(content)
        if not rpd_json.recognises(open_file(file)):
            continue
        try:
            read(rpd_json, file, tmp_path / str(at))
            outcomes.add("rows")
        except UnreadableFile as error:
            outcomes.add("unreadable")
            assert file.name in error.message
    assert outcomes == {"rows", "unreadable"}
