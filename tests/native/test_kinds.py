"""Each kind of record becomes a row of its table, column by column."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.native.programs import Programs
from tests.native.replays import (
    COPY,
    DEVICE,
    DRIVER,
    EXTERNAL,
    FILL,
    GRAPH,
    KERNEL,
    LARGER_STRIDES,
    MARKER,
    MEMORY,
    OVERHEAD,
    PEER_COPY,
    POOL,
    RUNTIME,
    STRIDES,
    SYNC,
    UVM,
    Layout,
    Replay,
    recently,
)

ALL = "kernel,copy,fill,sync,memory,pool,graph,marker,overhead,runtime,driver,uvm,external"
NONE = 0xFFFFFFFF


def rows(outcome: Any, table: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    columns = outcome.spool.tables[table]
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


@pytest.mark.parametrize(("strides", "version"), [(STRIDES, "130001"), (LARGER_STRIDES, "130500")])
def test_each_kind_of_record_becomes_a_row(
    programs: Programs, layout: Layout, tmp_path: Path, strides: dict[int, int], version: str
) -> None:
    replay = Replay(layout, strides)
    base = recently()
    gemm, mark, domain, device = (replay.text(text) for text in ("gemm", "step 1", "train", 'NVIDIA "H" ö'))
    place = {"deviceId": 1, "contextId": 2, "streamId": 3, "correlationId": 4}
    where = {"device": 1, "context": 2, "stream": 3, "correlation": 4}
    time = {"start": base, "end": base + 5}
    shape = {"gridX": 6, "gridY": 7, "gridZ": 8, "blockX": 9, "blockY": 10, "blockZ": 11, "clusterX": 2, "clusterY": 3}
    shape |= {"clusterZ": 4, "registersPerThread": 300, "staticSharedMemory": 12, "dynamicSharedMemory": 13}
    replay.add(
        DEVICE,
        id=1,
        name=device,
        computeCapabilityMajor=9,
        numMultiprocessors=132,
        globalMemorySize=1 << 37,
        globalMemoryBandwidth=4 << 30,
        coreClockRate=1980000,
    )
    replay.add(KERNEL, **time, **place, **shape, launchType=1, name=gemm)
    replay.add(KERNEL, **time, **place, **shape, launchType=1, name=gemm, graphId=14, graphNodeId=(14 << 32) + 1)
    copied = {"bytes": 1 << 33, "copyKind": 1, "srcKind": 2, "dstKind": 3, "flags": 1}
    replay.add(COPY, **time, **place, **copied, graphId=14, graphNodeId=15, copyCount=3)
    replay.add(PEER_COPY, **time, **place, **copied, srcDeviceId=5, dstDeviceId=6)
    replay.add(FILL, **time, **place, bytes=16, value=17, memoryKind=18, graphId=14, graphNodeId=15)
    replay.add(SYNC, **time, correlationId=4, contextId=2, streamId=NONE, type=3, cudaEventId=NONE)
    allocated = {"address": 1 << 45, "bytes": 512, "memoryOperationType": 1, "memoryKind": 3, "isAsync": 1, "PC": 99}
    replay.add(MEMORY, timestamp=base, **place, **allocated, poolType=1, poolAddress=77)
    replay.add(MEMORY, timestamp=base, **place, **allocated, name=mark)
    sizes = {"size": 1 << 34, "utilizedSize": 20, "releaseThreshold": 21, "minBytesToKeep": 22}
    replay.add(
        POOL,
        timestamp=base,
        address=23,
        **sizes,
        memoryPoolOperationType=2,
        memoryPoolType=1,
        deviceId=1,
        correlationId=4,
    )
    replay.add(GRAPH, **time, **place, graphId=14)
    replay.add(RUNTIME, **time, correlationId=4, threadId=24, cbid=211, returnValue=2)
    replay.add(DRIVER, **time, correlationId=4, threadId=24, cbid=307, returnValue=0)
    marked = {"id": 25, "flags": 2, "objectKind": 2, "processId": 26, "threadId": 27}
    replay.add(MARKER, timestamp=base, **marked, name=mark, domain=domain)
    replay.add(MARKER, timestamp=base + 5, **{**marked, "flags": 4})
    replay.add(OVERHEAD, **time, overheadKind=1 << 16, objectKind=2, processId=26, threadId=27)
    moved = {"address": 28, "srcId": 29, "dstId": 30, "streamId": 31, "processId": 32, "flags": 33, "value": 4096}
    replay.add(UVM, **time, **moved, counterKind=1)
    replay.add(UVM, start=base, **moved, counterKind=3)
    replay.add(EXTERNAL, correlationId=4, externalKind=3, externalId=1 << 60)
    outcome = programs.run(
        tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_EVENTS=ALL, STUB_VERSION=version
    )
    spool = outcome.spool
    assert (outcome.status, outcome.lines()) == (7, [])
    assert spool.names == ["gemm", "step 1", "cudaStub211", "cuStub307", "train"]
    (kernel,) = rows(outcome, "kernel")
    assert kernel == {**time, **where, "config": 0}
    assert rows(outcome, "graph_kernel") == [{**kernel, "graph": 14, "graph_node": (14 << 32) + 1}]
    config = {"id": 0, "name": 0, "grid_x": 6, "grid_y": 7, "grid_z": 8, "block_x": 9, "block_y": 10, "block_z": 11}
    config |= {"registers": 300, "static_shared": 12, "dynamic_shared": 13, "launch_type": 1}
    assert rows(outcome, "config") == [{**config, "cluster_x": 2, "cluster_y": 3, "cluster_z": 4}]
    copy = {**time, **where, "bytes": 1 << 33, "kind": 1, "source": 2, "target": 3, "flags": 1}
    assert rows(outcome, "copy") == [
        {**copy, "source_device": NONE, "target_device": NONE, "graph": 14, "graph_node": 15, "count": 3},
        {**copy, "source_device": 5, "target_device": 6, "graph": 0, "graph_node": 0, "count": 1},
    ]
    fill = {"bytes": 16, "value": 17, "memory": 18, "graph": 14, "graph_node": 15}
    assert rows(outcome, "fill") == [{**time, **where, **fill}]
    sync = {"correlation": 4, "context": 2, "stream": NONE, "kind": 3, "event": NONE}
    assert rows(outcome, "sync") == [{**time, **sync}]
    memory = {"time": base, "address": 1 << 45, "bytes": 512, "operation": 1, "kind": 3, "async": 1, "pc": 99, **where}
    assert rows(outcome, "memory") == [
        {**memory, "pool_type": 1, "pool_address": 77, "name": NONE},
        {**memory, "pool_type": 0, "pool_address": 0, "name": 1},
    ]
    pool = {"time": base, "address": 23, "size": 1 << 34, "utilized": 20, "release_threshold": 21}
    pool |= {"min_bytes_to_keep": 22, "operation": 2, "type": 1, "correlation": 4, "device": 1}
    assert rows(outcome, "pool") == [pool]
    assert rows(outcome, "graph_launch") == [{**time, **where, "graph": 14}]
    call = {**time, "correlation": 4, "thread": 24}
    assert rows(outcome, "call") == [
        {**call, "function": 211, "status": 2, "interface": 0},
        {**call, "function": 307, "status": 0, "interface": 1},
    ]
    assert rows(outcome, "call_name") == [
        {"interface": 0, "function": 211, "name": 2},
        {"interface": 1, "function": 307, "name": 3},
    ]
    marker = {"id": 25, "object_kind": 2, "process": 26, "thread": 27}
    assert rows(outcome, "marker") == [
        {**marker, "time": base, "flags": 2, "name": 1, "domain": 4},
        {**marker, "time": base + 5, "flags": 4, "name": NONE, "domain": NONE},
    ]
    assert rows(outcome, "overhead") == [
        {**time, "kind": 1 << 16, "object_kind": 2, "process": 26, "thread": 27},
    ]
    uvm = {"value": 4096, "address": 28, "source": 29, "target": 30, "stream": 31, "process": 32, "flags": 33}
    assert rows(outcome, "uvm") == [
        {**uvm, **time, "counter": 1},
        {**uvm, "start": base, "end": base, "counter": 3},
    ]
    assert rows(outcome, "external") == [{"correlation": 4, "kind": 3, "external": 1 << 60}]
    assert spool.told("device") == [
        {
            "what": "device",
            "device": 1,
            "name": 'NVIDIA "H" ö',
            "compute_capability": "9.0",
            "multiprocessors": 132,
            "memory_bytes": 1 << 37,
            "bandwidth_kB_s": 4 << 30,
            "clock_kHz": 1980000,
        }
    ]
    assert spool.state["records"] == spool.state["kept"]
    assert sum(spool.state["kept"].values()) == replay.records - 1


def test_the_process_and_its_options_are_told_once(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    replay.add(KERNEL, 10, start=recently(), end=recently(), name=replay.text("gemm"))
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), RANK="3", TRACELODE_RECORD_SAMPLE="2")
    (process,) = outcome.spool.told("process")
    (folder,) = outcome.folders
    assert folder.name.split("-")[-2] == str(process["pid"])
    assert (folder.stat().st_mode & 0o777, (folder / "events.spool").stat().st_mode & 0o777) == (0o700, 0o600)
    assert process["environment"] == {"RANK": "3"}
    assert process["command"] == [str(programs.folder / "app")] == [process["executable"]]
    assert (process["version"], process["collector"], process["clock"]) == ("1.2.3", "cupti", "monotonic_raw")
    assert (process["driver"], process["cupti_path"]) == (13000, str(programs.cupti))
    assert (process["options"]["sample"], process["options"]["graphs"]) == (2, "graph")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b'a"\\b\n\x01', 'a"\\b\n\x01'),
        ("grün €🚀".encode(), "grün €🚀"),
        (b"\xffx", "\ufffdx"),
        (b"x\xe2\x82", "x\ufffd\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
    ],
)
def test_bytes_that_are_no_text_are_replaced(
    programs: Programs, replay: Replay, tmp_path: Path, value: bytes, told: str
) -> None:
    replay.add(KERNEL, start=recently(), end=recently(), name=replay.text("gemm"))
    file = replay.write(tmp_path / "r")
    outcome = programs.run(tmp_path / "out", file, CUDA_VISIBLE_DEVICES=os.fsdecode(value))
    (process,) = outcome.spool.told("process")
    assert process["environment"] == {"CUDA_VISIBLE_DEVICES": told}


def test_the_clocks_are_told_at_the_start_and_the_end(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    replay.add(KERNEL, start=recently(), end=recently(), name=replay.text("gemm"))
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), APP_SLEEP="100")
    clocks = outcome.spool.told("clocks")
    assert len(clocks) >= 2
    for clock in ("realtime", "monotonic_raw", "boottime"):
        passed = clocks[-1][clock] - clocks[0][clock]
        assert abs(passed - (clocks[-1]["boottime"] - clocks[0]["boottime"])) < 10_000_000
        assert passed > 90_000_000
    assert all(0 <= clock["spread"] < 1_000_000_000 for clock in clocks)


def test_a_number_that_is_pushed_is_popped_whether_or_not_the_recording_pauses(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    outcome = programs.run(
        tmp_path / "out",
        replay.write(tmp_path / "r"),
        APP_CALLS="push,stop,pop,pop,push,start,pop,pop",
        TRACELODE_RECORD_EVENTS="kernel,external",
    )
    assert outcome.told.splitlines() == [
        "push 0",
        "stop 0",
        "pop 0",
        "pop -1",
        "push 0",
        "start 0",
        "pop 0",
        "pop -1",
    ]


def test_ranges_of_nvtx_go_to_the_cupti_that_records(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    file = replay.write(tmp_path / "r")
    outcome = programs.run(tmp_path / "out", file, APP_RANGES="1", APP_CALLS="work,ranges")
    assert outcome.told.splitlines() == ["ranges 1", "table 1", "table 1", "ranges 1"]
    unwanted = programs.run(tmp_path / "out", file, APP_CALLS="ranges", TRACELODE_RECORD_EVENTS="kernel")
    assert unwanted.told.splitlines() == ["ranges 1"]


def test_ranges_of_nvtx_load_nothing_into_a_program_without_cuda(programs: Programs, tmp_path: Path) -> None:
    program = f"""
import ctypes
asked = []
tables = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(asked.append)
print(ctypes.CDLL("{programs.collector}").InitializeInjectionNvtx2(tables), asked)
print("libcupti" in open("/proc/self/maps").read(), "libcuda.so" in open("/proc/self/maps").read())
"""
    outcome = programs.run(tmp_path / "out", program=["python3", "-c", program])
    assert (outcome.status, outcome.output, outcome.told) == (0, "1 []\nFalse False\n", "")


@pytest.mark.parametrize(("version", "count"), [("25", 1), ("26", 3)])
def test_how_many_copies_a_record_stands_for_is_told_since_cuda_12_8(
    programs: Programs, replay: Replay, tmp_path: Path, version: str, count: int
) -> None:
    replay.add(COPY, start=recently(), end=recently(), copyCount=3)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), STUB_VERSION=version)
    assert outcome.spool.tables["copy"]["count"].tolist() == [count]
