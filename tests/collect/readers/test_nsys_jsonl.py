import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.nsys_exports import write_lines
from tests.collect.reading import Row, Tables, Told, damaged, read
from tracelode.collect.files import open_file, reader_of
from tracelode.collect.readers import nsys_jsonl
from tracelode.store.errors import UnreadableFile

PROCESS = 1 << 48 | 4100 << 24
THREAD = PROCESS | 4107
PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}
KERNEL = {"start": 100, "end": 150, "correlationId": 5, **PLACE, "demangledName": 10, "shortName": 10}
RANGE = {"start": 10, "end": 60, "eventType": 59, "globalTid": THREAD, "text": "step"}
RANGED = {"Timestamp": "80", "EndTimestamp": "220", "GlobalTid": str(THREAD)}
TABLES: Tables = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [{**KERNEL, "start": 100 * n, "end": 100 * n + 50} for n in range(1, 30)],
    "NVTX_EVENTS": [RANGE],
    "META_DATA_EXPORT": [{"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2"}],
    "StringIds": [{"id": 10, "value": "gemm"}, {"id": 11, "value": "read"}],
}


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[str | bytes], Told]:
    """Reads lines as ingest does."""

    def tell(content: str | bytes) -> Told:
        path = tmp_path / "read.jsonl"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(nsys_jsonl, path, tmp_path)

    return tell


@pytest.fixture
def whole(tmp_path: Path) -> str:
    return write_lines(tmp_path, TABLES).read_text()


def lines(*said: Any) -> str:
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in said)


def test_names_may_come_after_the_events_that_use_them(whole: str, tell: Callable[..., Told]) -> None:
    told = tell(whole)
    assert {row["name"] for row in told["kernel"]} == {"gemm"}
    assert (told.facts.format, told.facts.producer) == ("nsys_jsonl", "NVIDIA Nsight Systems 2026.2")
    assert not told.notes.keys() & {"bad-line", "truncated", "ill-typed"}


def test_the_lines_of_tables_may_be_mixed(whole: str, tell: Callable[..., Told]) -> None:
    assert tell("".join(sorted(whole.splitlines(keepends=True)))).tables == tell(whole).tables


def test_an_id_given_to_two_texts_is_counted_and_one_given_twice_to_one_is_not(
    whole: str, tell: Callable[..., Told]
) -> None:
    again = {"id": 10, "table": "StringIds", "value": "gemm"}
    assert "repeated-id" not in tell(whole + lines(again)).notes
    told = tell(whole + lines(again, again | {"value": "other"}))
    assert (told.notes["repeated-id"].count, told.notes["repeated-id"].example) == (1, "other")


def test_calls_that_lack_their_thread_among_others_are_counted(whole: str, tell: Callable[..., Told]) -> None:
    call = {"table": "CUPTI_ACTIVITY_KIND_RUNTIME", "start": 1, "end": 2, "nameId": 11, "correlationId": 5}
    told = tell(whole + lines(call | {"globalTid": THREAD}, call))
    assert [(row["process"], row.get("thread")) for row in told["api"]] == [(4100, 4107), (4100, None)]
    assert told.notes["no-process"].count == 1


def test_messages_of_the_older_form_are_rows_of_the_same_tables(tell: Callable[..., Told]) -> None:
    work: Row = {"correlationId": 745, "deviceId": 1, "contextId": "1", "streamId": "7", "globalPid": str(PROCESS)}
    kernel = {"demangledName": "2", "shortName": "3", "gridX": 64, "blockX": 128, "eventCategory": "2"}
    copy = {"sizebytes": "4096", "copyKind": "2", "srcKind": 2, "dstKind": 1, "copyCount": "1"}
    fill = {"sizebytes": "64", "value": 255, "memKind": 2}
    sync = {"eventId": 2**32 - 1, "eventSyncId": "4294967295", "syncType": "SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"}
    call = {"startNs": "90", "endNs": "95", "correlationId": 745, "eventClass": 0, "name": "1", "returnValue32": 0}
    told = tell(
        lines(
            {"data": ["[Unknown]", "cudaLaunchKernel_v7000", "void gemm<float>(T1 *)", "gemm", "worker"]},
            {"Type": 48, "TraceProcessEvent": {**call, "globalTid": str(THREAD)}},
            {"Type": 47, "TraceProcessEvent": {**call, "eventClass": 27, "name": "4", "globalTid": str(THREAD)}},
            {"Type": 79, "CudaEvent": {"startNs": "100", "endNs": "150", **work, "eventClass": 3, "kernel": kernel}},
            {"Type": 80, "CudaEvent": {"startNs": "160", "endNs": "170", **work, "eventClass": 1, "memcpy": copy}},
            {"Type": 81, "CudaEvent": {"startNs": "180", "endNs": "190", **work, "eventClass": 2, "memset": fill}},
            {"Type": 106, "CudaEvent": {"startNs": "200", "endNs": "210", **work, "eventClass": 5, "sync": sync}},
            {"Type": 59, "NvtxEvent": {"Type": 59, **RANGED, "Text": "7", "DomainId": "0", "NsTime": True}},
            {"Type": 41, "SchedEvent": {"startNs": "5", "cpu": {"id": 1}}},
            {"data": [{"nameIdx": "4", "priority": "10", "globalTid": str(THREAD)}]},
        )
    )
    place = {"process": 4100, "device": 1, "context": 1, "stream": 7}
    linked = {"correlation": 745, "launch": 0, "launch_ns": 90, "launch_thread": 4107}
    sizes = {"grid_x": 64, "block_x": 128}
    assert told["kernel"] == [
        {**place, "start_ns": 100, "end_ns": 150, "name": "void gemm<float>(T1 *)", **sizes, **linked}
    ]
    memory = {"source_memory": "device", "target_memory": "pinned"}
    (copied,) = told["copy"]
    assert copied.pop("args") == '{"copyCount": 1}'
    assert copied == {**place, "start_ns": 160, "end_ns": 170, "kind": "DtoH", "bytes": 4096, **memory, **linked}
    (filled,) = told["fill"]
    assert (filled["bytes"], filled["value"], filled["memory"]) == (64, 255, "device")
    assert [(row["kind"], row["start_ns"]) for row in told["sync"]] == [("stream", 200)]
    assert [(row["name"], row["kind"]) for row in told["api"]] == [("cudaLaunchKernel_v7000", "runtime")]
    assert [(row["name"], row["kind"]) for row in told["range"]] == [("7", "nvtx"), ("worker", "trace")]
    assert [row["kind"] for row in told["other"]] == ["SchedEvent"]
    assert [row["name"] for row in told["track"]] == ["worker"]


def test_texts_of_the_older_form_may_be_lines_of_their_own(tell: Callable[..., Told]) -> None:
    event = {"Type": 59, **RANGED, "TextId": "3720"}
    told = tell(lines({"Type": 59, "NvtxEvent": event}, {"type": "String", "id": "3720", "value": "forward"}))
    assert [row["name"] for row in told["range"]] == ["forward"]


def test_lines_that_say_nothing_are_counted(whole: str, tell: Callable[..., Told]) -> None:
    told = tell(whole + "{]\n[1]\n" + lines({"what": 1}) + "\n\n")
    assert told.notes["bad-line"].count == 3
    assert len(told["kernel"]) == 29


def test_a_cut_file_is_read_to_its_last_whole_line(whole: str, tell: Callable[..., Told]) -> None:
    told = tell(whole[:-20])
    assert told.notes["truncated"].count == 1
    assert {row["name"] for row in told["kernel"]} == {"gemm"}


def test_deep_nesting_is_no_crash(whole: str, tell: Callable[..., Told]) -> None:
    deep = '{"table":"NVTX_EVENTS","start":' + '{"a":[' * 200_000 + "\n"
    wide = '{"table":"SOMETHING","list":' + "[" * 900 + "]" * 900 + "}\n"
    told = tell(whole + deep + wide)
    assert told.notes["bad-line"].count == 1
    assert len(told["range"]) == 1


def test_values_no_table_can_hold_are_counted(whole: str, tell: Callable[..., Told]) -> None:
    huge = lines({**KERNEL, "table": "CUPTI_ACTIVITY_KIND_KERNEL", "start": 10**30})
    odd = lines({**RANGE, "table": "NVTX_EVENTS", "text": "x"}).replace('"x"', '"\\ud800"')
    wide = lines({**{f"column {n}": n for n in range(600)}, "table": "WIDE"})
    told = tell(whole + huge + odd + wide)
    assert told.notes["bad-line"].count == 2
    assert told.notes["no-time"].count == 1
    assert [row["name"] for row in told["range"]] == ["step", "?"]


def test_a_million_tables_are_not_kept(whole: str, tell: Callable[..., Told]) -> None:
    told = tell(whole + lines(*({"table": f"T{n}", "x": n} for n in range(1_500))))
    assert told.notes["bad-line"].count == 504
    assert len(told["kernel"]) == 29


def test_times_are_exact_beside_real_numbers(tell: Callable[..., Told]) -> None:
    exact = 2**53 + 1
    rows = [{**RANGE, "start": exact, "end": exact + 2, "doubleValue": 0.5}, {**RANGE, "start": 1.0, "end": 2}]
    told = tell(lines(*({**row, "table": "NVTX_EVENTS"} for row in rows)))
    assert told["range"][-1]["end_ns"] == exact + 2


def test_other_json_lines_are_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    others = ({"table": "users", "id": 1}, {"Type": 1, "payload": {}}, {"traceEvents": []}, {"data": [1]}, [1])
    for other in others:
        path.write_text(lines(other))
        assert not nsys_jsonl.recognises(open_file(path))


def test_a_damaged_file_is_an_error_or_a_note(whole: str, tmp_path: Path, tell: Callable[..., Told]) -> None:
    (tmp_path / "whole.jsonl").write_text(whole)
    noted = 0
    for content in damaged(tmp_path / "whole.jsonl", 12):
        (tmp_path / "look.jsonl").write_bytes(content)
        try:
            if reader_of(open_file(tmp_path / "look.jsonl"))[0] == "nsys_jsonl":
                noted += bool(tell(content).notes)
        except UnreadableFile:
            noted += 1
    assert noted > 8
