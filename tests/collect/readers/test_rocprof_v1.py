import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Told, damaged, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import rocprof_v1
from tracelode.store.errors import UnreadableFile

LANES = {2: "CPU HIP API", 1: "COPY", 6: "GPU0", 518: "GPU Barriers0"}
AGENT = {
    "Agent1.DeviceType": "CPU",
    "Agent1.Node": "0",
    "Agent2.DeviceType": "GPU",
    "Agent2.Node": "4",
    "Agent2.Name": "gfx942",
    "Agent2.MarketingName": "AMDInstinctMI300X",
    "Agent2.ComputeUnit": "304",
    "Agent2.MaxClockFreq.(MHz)": "2100",
    "Agent2.MemoryProperties.PoolInfo.Pool1.Size": "1024(0x400)KB",
    "CMD": "rocminfo",
}
HEADER = (
    '"Index","KernelName","gpu-id","queue-id","pid","tid","grd","wgr","lds","scr","arch_vgpr","DispatchNs","BeginNs",'
    '"EndNs","CompleteNs","DurationNs"'
)


def span(lane: int, name: str, begin: int, end: int, **said: str) -> str:
    args = {"BeginNs": str(begin), "EndNs": str(end), "Name": name, "pid": "9", "tid": "10", "Data": "", **said}
    event = {"ph": "X", "name": name, "pid": str(lane), "tid": "1", "ts": str(begin // 1000), "dur": "1", "args": args}
    return json.dumps(event, indent=1)


WORK = {"dev-id": "4", "queue-id": "3", "stream-id": "2"}
CALL = span(2, "hipMalloc", 1_000_001, 1_000_020, args="( ptr(0x7f) size(64))")
COPY = span(1, "CopyHostToDevice", 1_000_100, 1_000_150, **WORK)
KERNEL = span(6, "add(float*)", 1_000_200, 1_000_209, **WORK)


def text(*events: str, other: dict[str, str] | None = None) -> str:
    lanes = [
        f'{{"args":{{"name":"{name}"}},"ph":"M","pid":{lane},"name":"process_name","sort_index":{at}}}'
        for at, (lane, name) in enumerate(LANES.items())
    ]
    listed = "".join(f",{event}\n" for event in (*lanes, *events))
    return '{ "traceEvents":[{}\n' + listed + '],\n"otherData": ' + json.dumps(other or {}, indent=4) + "\n}\n"


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(content: str, name: str = "results.json") -> Told:
        path = tmp_path / name
        path.write_text(content)
        return read(rocprof_v1, path, tmp_path)

    return tell


def test_events_are_read_with_their_exact_times(tell: Callable[..., Told]) -> None:
    barrier = span(518, "marker-1", 1_000_300, 1_000_301, **WORK)
    flow = '{"ts":1000,"ph":"s","cat":"DataFlow","id":5,"pid":2,"tid":10,"name":"dep"}'
    told = tell(text(CALL, COPY, KERNEL, barrier, flow, other=AGENT))
    place = {"process": 9, "device": 4, "stream": 3}
    said = '{"stream-id": "2", "tid": "10"}'
    assert told["kernel"] == [
        {**place, "start_ns": 1_000_200, "end_ns": 1_000_209, "name": "add(float*)", "args": said}
    ]
    assert told["copy"] == [{**place, "start_ns": 1_000_100, "end_ns": 1_000_150, "kind": "HtoD", "args": said}]
    assert told["api"] == [
        {
            "process": 9,
            "thread": 10,
            "start_ns": 1_000_001,
            "end_ns": 1_000_020,
            "name": "hipMalloc",
            "kind": "runtime",
            "args": '{"args": "( ptr(0x7f) size(64))"}',
        }
    ]
    assert [(r["name"], r["kind"], r["device"]) for r in told["range"]] == [("marker-1", "barrier", 4)]
    assert [(r["track"], r["time_ns"], r["id"], r["phase"]) for r in told["flow"]] == [(10, 1_000_000, 5, "s")]
    assert [r["name"] for r in told["track"]] == [*LANES.values()]
    assert told["device"] == [
        {
            "process": 9,
            "device": 4,
            "name": "AMDInstinctMI300X",
            "vendor": "amd",
            "compute_units": 304,
            "memory_bytes": 1024 * 1024,
            "clock_hz": 2_100_000_000,
            "architecture": "gfx942",
            "args": '{"DeviceType": "GPU", "Node": "4"}',
        }
    ]
    assert told.facts.labels["CMD"] == "rocminfo"
    assert "other" not in told.tables


def test_ids_may_be_numbers_or_texts(tell: Callable[..., Told]) -> None:
    numbers = KERNEL.replace('"pid": "6"', '"pid": 6').replace('"tid": "1"', '"tid": 1')
    assert tell(text(numbers))["kernel"] == tell(text(KERNEL))["kernel"]


def test_an_event_in_a_lane_that_nobody_knows_goes_to_other(tell: Callable[..., Told]) -> None:
    told = tell(text(span(77, "what", 5, 6), KERNEL))
    assert [(r["kind"], r["time_ns"]) for r in told["other"]] == [("X", 5)]


def test_two_events_joined_by_a_hole_are_no_event(tell: Callable[..., Told]) -> None:
    whole = text(CALL, COPY, KERNEL, KERNEL)
    first, last = whole.index("hipMalloc"), whole.index("add(float*)")
    told = tell(whole[:first] + "\0" * (last - first) + whole[last:])
    assert len(told["kernel"]) == 1 and not {"api", "copy"} & told.tables.keys()
    assert (told.counts()["damaged"], len(told["other"])) == (1, 1)


def test_a_list_that_nowhere_opens_is_read_when_it_holds_events(tell: Callable[..., Told]) -> None:
    told = tell(text(KERNEL, CALL).removeprefix('{ "traceEvents":[{}\n'))
    assert (len(told["kernel"]), len(told["api"])) == (1, 1)


def test_a_list_that_nowhere_opens_and_holds_no_event_is_unreadable(tell: Callable[..., Told]) -> None:
    with pytest.raises(UnreadableFile, match=r"results\.json: .* before the first event"):
        tell(',{"args":{"name":"COPY"},"ph":"M","pid":1,"name":"process_name","sort_index":0}\n')


def test_kernels_of_the_csv_are_read(tell: Callable[..., Told]) -> None:
    row = '0,"add(float*) [clone .kd]",8,1,9,9,1024,64,512,0,16,90,100,130,140,30'
    told = tell(f"{HEADER}\n{row}\n", "results.csv")
    assert told["kernel"] == [
        {
            "process": 9,
            "device": 8,
            "stream": 1,
            "start_ns": 100,
            "end_ns": 130,
            "name": "add(float*) [clone .kd]",
            "registers": 16,
            "shared_bytes": 512,
            "args": '{"tid": "9", "grd": "1024", "wgr": "64", "DispatchNs": "90", "CompleteNs": "140"}',
        }
    ]
    assert told.counts() == {"no-launch": 1}


def test_statistics_are_kept_but_are_no_events(tell: Callable[..., Told]) -> None:
    told = tell('"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"hipMalloc",3,30,10,100.0\n', "stats.csv")
    assert [r["kind"] for r in told["other"]] == ["statistics"]
    assert json.loads(told["other"][0]["json"])["TotalDurationNs"] == "30"


def test_torn_lines_of_the_csv_are_kept_and_counted(tell: Callable[..., Told]) -> None:
    row = '0,"add",8,1,9,9,1024,64,512,0,16,90,100,130,140,30'
    told = tell(f"{HEADER}\n{row}\n1,broken\n{row.replace('100', 'x')}\n{row[:-20]}", "results.csv")
    assert len(told["kernel"]) == 1
    assert told.counts() == {"damaged": 2, "incomplete": 1, "no-launch": 1, "unterminated": 1}
    assert sorted(r["kind"] for r in told["other"]) == ["damaged", "damaged", "kernel"]


def test_the_database_gives_the_same_rows_as_the_json(tell: Callable[..., Told], tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    tables: dict[str, list[dict[str, Any]]] = {
        "HIP": [json.loads(CALL)["args"]],
        "COPY": [json.loads(COPY)["args"]],
        "OPS": [json.loads(KERNEL)["args"]],
    }
    with closing(sqlite3.connect(path)) as database:
        for table, rows in tables.items():
            database.execute(f'create table "{table}" ({", ".join(f""""{name}" TEXT""" for name in rows[0])})')
            database.execute(
                f'insert into "{table}" values ({", ".join("?" for _ in rows[0])})', [str(v) for v in rows[0].values()]
            )
        database.execute('create table KERN ("Index" INTEGER, "KernelName" TEXT)')
        database.commit()
    told, wanted = read(rocprof_v1, path, tmp_path), tell(text(CALL, COPY, KERNEL))
    for table in ("api", "copy", "kernel", "process", "device"):
        assert told[table] == wanted[table], table


@pytest.mark.parametrize(
    "content", [text(CALL, COPY, KERNEL, other=AGENT), f'{HEADER}\n0,"a",8,1,9,9,1,1,0,0,1,1,2,3,4,1\n']
)
def test_damage_gives_rows_or_an_unreadable_file_and_nothing_else(content: str, tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.write_text(content)
    read_at_all = 0
    for at, changed in enumerate(damaged(path, 20)):
        file = tmp_path / f"damaged{at}"
        file.write_bytes(changed)
        if not rocprof_v1.recognises(open_file(file)):
            continue
        try:
            read(rocprof_v1, file, tmp_path / str(at))
            read_at_all += 1
        except UnreadableFile as error:
            assert file.name in error.message
    assert read_at_all
