import gzip
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect.reading import Row, Tables, Told, read, write
from tracelode.collect import ingest, sqlite
from tracelode.collect.files import open_file, reader_of
from tracelode.collect.readers import nsys
from tracelode.collect.sink import Sink
from tracelode.store.archive import Archive
from tracelode.store.errors import OpaqueFile, UnreadableFile
from tracelode.store.health import COUNTS, PART_LOST, health
from tracelode.store.trace import Facts

PID, TID = 4100, 4107
PROCESS = 1 << 48 | PID << 24
THREAD = PROCESS | TID
STRINGS = {
    10: "void gemm<float>(T1 *)",
    11: "gemm",
    20: "cudaLaunchKernel_v7000",
    21: "cuMemcpyAsync",
    22: "read",
    23: "forward",
    24: "worker",
}
STRING_ROWS = [{"id": key, "value": value} for key, value in STRINGS.items()]
PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}
KERNEL = {"start": 100, "end": 150, "correlationId": 5, **PLACE, "demangledName": 10, "shortName": 11}
CALL = {"start": 90, "end": 95, "globalTid": THREAD, "correlationId": 5, "nameId": 20, "returnValue": 0}
RANGE = {"start": 10, "end": 60, "eventType": 59, "globalTid": THREAD, "domainId": 0, "textId": 23}
PRODUCER = [
    {"name": "EXPORT_PRODUCT_NAME", "value": "NVIDIA Nsight Systems"},
    {"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2.1.210"},
    {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"},
]


@pytest.fixture
def tell(tmp_path: Path) -> Iterator[Callable[..., Told]]:
    """Reads a file, or tables written into one, as ingest does."""

    def tell(source: Path | Tables) -> Told:
        path = source if isinstance(source, Path) else write(tmp_path / "report.sqlite", source)
        return read(nsys, path, tmp_path)

    yield tell


def minimal(**tables: list[Row]) -> Tables:
    return {
        "StringIds": STRING_ROWS,
        "CUPTI_ACTIVITY_KIND_RUNTIME": [CALL],
        "CUPTI_ACTIVITY_KIND_KERNEL": [KERNEL],
        **tables,
    }


def test_a_kernel_is_read_with_all_that_an_engineer_needs(tell: Callable[..., Told]) -> None:
    kernel = {
        **KERNEL,
        **{f"grid{axis}": size for axis, size in zip("XYZ", (64, 2, 1), strict=True)},
        **{f"block{axis}": size for axis, size in zip("XYZ", (128, 1, 1), strict=True)},
        "registersPerThread": 40,
        "staticSharedMemory": 1024,
        "dynamicSharedMemory": 512,
        "graphNodeId": 77,
        "graphId": 3,
        "gridId": 9,
        "mangledName": 12,
        "cacheConfig": 1,
        "launchType": 2,
        "greenContextId": None,
        "localMemoryPerThread": 0,
        "sharedMemoryExecuted": 16384,
        "clusterX": 2,
        "tensorSizes": "8x8",
    }
    launch_types = [{"id": 2, "name": "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE"}]
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[kernel], ENUM_CUDA_KERNEL_LAUNCH_TYPE=launch_types))
    (row,) = told["kernel"]
    args = json.loads(row.pop("args"))
    assert row == {
        "process": PID,
        "device": 0,
        "context": 1,
        "stream": 7,
        "start_ns": 100,
        "end_ns": 150,
        "name": "void gemm<float>(T1 *)",
        "grid_x": 64,
        "grid_y": 2,
        "grid_z": 1,
        "block_x": 128,
        "block_y": 1,
        "block_z": 1,
        "registers": 40,
        "shared_bytes": 1536,
        "correlation": 5,
        "graph": 3,
        "graph_node": 77,
        "launch": 0,
        "launch_ns": 90,
        "launch_thread": TID,
    }
    assert args == {
        "launchType": "cooperative_single_device",
        "sharedMemoryExecuted": 16384,
        "clusterX": 2,
        "tensorSizes": "8x8",
    }
    assert told["api"] == [
        {
            "process": PID,
            "thread": TID,
            "start_ns": 90,
            "end_ns": 95,
            "name": "cudaLaunchKernel_v7000",
            "kind": "runtime",
            "correlation": 5,
            "status": 0,
        }
    ]
    assert not told.notes


def test_copies_tell_their_direction_memory_and_cause_also_without_the_enumerations(tell: Callable[..., Told]) -> None:
    copy = {
        "start": 200,
        "end": 210,
        "correlationId": 6,
        **PLACE,
        "bytes": 4096,
        "copyKind": 1,
        "srcKind": 1,
        "dstKind": 2,
    }
    managed = {
        "copyKind": 11,
        "correlationId": 0,
        "migrationCause": 2,
        "virtualAddress": 2**46,
        "srcKind": 7,
        "dstKind": 7,
    }
    peer = {"start": 230, "copyKind": 10, "end": 240, "srcDeviceId": 1, "dstDeviceId": 0}
    rows = [
        copy,
        {**copy, **managed, "start": 220, "end": 225},
        {**copy, **peer},
        {**copy, "start": 250, "copyKind": 99},
    ]
    enumerations: Tables = {
        "ENUM_CUDA_MEMCPY_OPER": [{"id": 1, "name": "CUDA_MEMCPY_KIND_HTOD"}],
        "ENUM_CUDA_MEM_KIND": [{"id": 1, "name": "CUDA_MEMOPR_MEMORY_KIND_PINNED"}],
        "ENUM_CUDA_UNIF_MEM_MIGRATION": [{"id": 2, "name": "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE"}],
    }
    for more in ({}, enumerations):
        told = tell(minimal(CUPTI_ACTIVITY_KIND_MEMCPY=rows, **more))
        place = {"process": PID, "device": 0, "context": 1, "stream": 7}
        assert told["copy"] == [
            {
                **place,
                "start_ns": 200,
                "end_ns": 210,
                "kind": "HtoD",
                "bytes": 4096,
                "correlation": 6,
                "source_memory": "pinned",
                "target_memory": "device",
            },
            {
                **place,
                "start_ns": 220,
                "end_ns": 225,
                "kind": "UVM_HtoD",
                "bytes": 4096,
                "cause": "coherence",
                "address": 2**46,
            },
            {
                **place,
                "start_ns": 230,
                "end_ns": 240,
                "kind": "PtoP",
                "bytes": 4096,
                "correlation": 6,
                "peer_device": 1,
                "source_memory": "pinned",
                "target_memory": "device",
            },
            {
                **place,
                "start_ns": 250,
                "end_ns": 250,
                "flaw": "negative duration",
                "args": '{"recorded_end_ns": 210}',
                "bytes": 4096,
                "correlation": 6,
                "source_memory": "pinned",
                "target_memory": "device",
            },
        ]
        assert told.notes["negative-duration"].count == 1


def test_fills_and_waits_are_read(tell: Callable[..., Told]) -> None:
    fill = {"start": 300, "end": 310, "correlationId": 8, **PLACE, "bytes": 64, "value": 255, "memKind": 2}
    wait = {"start": 320, "end": 330, "correlationId": 9, **PLACE, "syncType": 3, "eventId": 2**32 - 1}
    device_wide = {**wait, "start": 340, "end": 350, "syncType": 4, "streamId": 2**32 - 1}
    event = {**wait, "start": 360, "end": 370, "syncType": 1, "eventId": 12, "streamId": 2**32 - 1, "eventSyncId": 4}
    told = tell(
        minimal(CUPTI_ACTIVITY_KIND_MEMSET=[fill], CUPTI_ACTIVITY_KIND_SYNCHRONIZATION=[wait, device_wide, event])
    )
    place = {"process": PID, "device": 0, "context": 1}
    assert told["fill"] == [
        {
            **place,
            "stream": 7,
            "start_ns": 300,
            "end_ns": 310,
            "bytes": 64,
            "value": 255,
            "memory": "device",
            "correlation": 8,
        }
    ]
    assert told["sync"] == [
        {**place, "stream": 7, "start_ns": 320, "end_ns": 330, "kind": "stream", "correlation": 9},
        {**place, "start_ns": 340, "end_ns": 350, "kind": "context", "correlation": 9},
        {
            **place,
            "start_ns": 360,
            "end_ns": 370,
            "kind": "event",
            "event": 12,
            "correlation": 9,
            "args": '{"eventSyncId": 4}',
        },
    ]


def test_nvtx_ranges_marks_domains_categories_and_payloads_are_read(tell: Callable[..., Told]) -> None:
    events = [
        RANGE,
        {"start": 12, "eventType": 34, "text": "tick", "globalTid": THREAD},
        {**RANGE, "start": 14, "end": 20, "eventType": 60, "rangeId": 4, "domainId": 2, "category": 8},
        {**RANGE, "start": 16, "end": 18, "text": "own text", "uint64Value": 5, "doubleValue": 0.5, "category": 9},
        {**RANGE, "start": 22, "end": 24, "jsonText": '{"n": 1}', "endGlobalTid": THREAD + 1, "binaryData": "0a0b"},
        {"start": 1, "eventType": 75, "text": "lib", "globalTid": THREAD, "domainId": 2},
        {"start": 2, "eventType": 33, "text": "io", "globalTid": THREAD, "domainId": 2, "category": 8},
        {"start": 3, "eventType": 39, "text": "MPI Rank 6", "globalTid": THREAD},
        {"start": 4, "eventType": 76, "globalTid": THREAD, "domainId": 2},
    ]
    told = tell(minimal(NVTX_EVENTS=events))
    thread = {"process": PID, "thread": TID}
    ranges = told["range"]
    for row in ranges:
        row["args"] = json.loads(row.get("args", "{}"))
    assert ranges == [
        {**thread, "start_ns": 10, "end_ns": 60, "name": "forward", "kind": "nvtx", "args": {}},
        {**thread, "start_ns": 12, "end_ns": 12, "name": "tick", "kind": "mark", "args": {}},
        {
            **thread,
            "start_ns": 14,
            "end_ns": 20,
            "name": "forward",
            "kind": "nvtx",
            "domain": "lib",
            "id": 4,
            "args": {"category": "io"},
        },
        {
            **thread,
            "start_ns": 16,
            "end_ns": 18,
            "name": "own text",
            "kind": "nvtx",
            "args": {"uint64Value": 5, "doubleValue": 0.5, "category": "9"},
        },
        {
            **thread,
            "start_ns": 22,
            "end_ns": 24,
            "name": "forward",
            "kind": "nvtx",
            "args": {"json": '{"n": 1}', "end_thread": TID + 1, "binary": "0a0b"},
        },
    ]
    assert told["track"] == [{"process": PID, "track": TID, "name": "MPI Rank 6", "kind": "thread"}]
    assert told["process"] == [{"process": PID, "pid": PID, "rank": 6}]


def test_a_range_that_never_ended_ends_with_the_recording(tell: Callable[..., Told]) -> None:
    never = {**RANGE, "start": 40, "end": None}
    default = {**RANGE, "start": 50, "end": 0}  # how the oldest exports write a missing end
    told = tell(minimal(NVTX_EVENTS=[RANGE, never, default]))
    assert [(r["start_ns"], r["end_ns"]) for r in told["range"]] == [(10, 60), (40, 150), (50, 150)]
    assert (told.notes["open-range"].count, told.notes["open-range"].example) == (2, "forward")


def test_spans_of_any_library_are_ranges_of_their_kind(tell: Callable[..., Told]) -> None:
    span = {"start": 400, "end": 420, "globalTid": THREAD}
    told = tell(
        minimal(
            OSRT_API=[{**span, "nameId": 22, "returnValue": -1, "nestingLevel": 0, "callchainId": 3}],
            CUDNN_EVENTS=[{**span, "nameId": 23, "eventClass": 28}],
            MPI_P2P_EVENTS=[{**span, "textId": 22, "size": 1024, "tag": 0}],
            CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH=[{**span, "nameId": 23, "kernelName": 11, "lineNo": 12}],
            PROFILER_OVERHEAD=[{**span, "nameId": 22}],
            CUDA_GRAPH_NODE_EVENTS=[{**span, "nameId": 99, "graphNodeId": 6}],
            VIDEO_EVENTS=[{**span, "name": "encode"}],
        )
    )
    thread = {"process": PID, "thread": TID, "start_ns": 400, "end_ns": 420}
    assert sorted(told["range"], key=lambda row: row["kind"]) == [
        {
            **thread,
            "kind": "cuda_graph",
            "domain": "CUDA_GRAPH_NODE_EVENTS",
            "args": '{"graphNodeId": 6}',
        },
        {**thread, "kind": "cudnn", "name": "forward", "domain": "CUDNN_EVENTS"},
        {**thread, "kind": "mpi", "name": "read", "domain": "MPI_P2P_EVENTS", "args": '{"size": 1024}'},
        {
            **thread,
            "kind": "openacc",
            "name": "forward",
            "domain": "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH",
            "args": '{"kernelName": "gemm", "lineNo": 12}',
        },
        {**thread, "kind": "osrt", "name": "read", "domain": "OSRT_API", "args": '{"returnValue": -1}'},
        {**thread, "kind": "overhead", "name": "read", "domain": "PROFILER_OVERHEAD"},
        {**thread, "kind": "video", "name": "encode", "domain": "VIDEO_EVENTS"},
    ]


def test_page_faults_of_managed_memory_are_read(tell: Callable[..., Told]) -> None:
    device = {"start": 500, "end": 520, "globalPid": PROCESS, "deviceId": 0, "address": 2**45, "numberOfPageFaults": 3}
    host = {"start": 530, "globalPid": PROCESS, "address": 2**44, "sourceLine": 8}
    told = tell(
        minimal(
            CUDA_UM_GPU_PAGE_FAULT_EVENTS=[{**device, "faultAccessType": 2}, {**device, "start": 540, "end": None}],
            CUDA_UM_CPU_PAGE_FAULT_EVENTS=[host],
        )
    )
    gpu = {"process": PID, "device": 0, "processor": "gpu", "address": 2**45, "pages": 3}
    assert told["fault"] == [
        {**gpu, "start_ns": 500, "end_ns": 520, "kind": "write"},
        {
            "process": PID,
            "processor": "cpu",
            "start_ns": 530,
            "address": 2**44,
            "pages": 1,
            "args": '{"sourceLine": 8}',
        },
        {**gpu, "start_ns": 540},
    ]


def test_allocations_end_with_the_next_release_of_their_address(tell: Callable[..., Told]) -> None:
    def event(start: int, address: int, act: int, kind: int = 2, size: int = 10) -> Row:
        acts = {"memoryOperationType": act, "memKind": kind, "pc": 1}
        return {"start": start, "globalPid": PROCESS, "deviceId": 0, "address": address, "bytes": size, **acts}

    told = tell(
        minimal(
            CUDA_GPU_MEMORY_USAGE_EVENTS=[
                *(event(1, 100, 0), event(5, 100, 1), event(6, 100, 0, size=20), event(2, 200, 0, kind=1)),
                *(event(9, 300, 1, kind=4), event(3, 400, 0, kind=5), event(4, 400, 0, kind=2), event(8, 400, 1)),
            ]
        )
    )
    assert [
        tuple(row.get(c) for c in ("address", "kind", "device", "bytes", "birth_ns", "death_ns"))
        for row in sorted(told.tables["allocation"], key=lambda row: (row["address"], row["birth_ns"] or 0))
    ] == [
        (100, "device", 0, 10, 1, 5),
        (100, "device", 0, 20, 6, None),
        (200, "pinned", None, 10, 2, None),
        (300, "managed", 0, 10, None, 9),
        (400, "device", 0, 10, 3, None),
        (400, "device", 0, 10, 4, 8),
    ]


def test_graphs_recorded_as_a_whole_are_spans_and_a_warning(tell: Callable[..., Told]) -> None:
    graph = {"start": 600, "end": 700, "correlationId": 5, **PLACE, "graphId": 4, "graphExecId": 5}
    tables = minimal(CUPTI_ACTIVITY_KIND_GRAPH_TRACE=[graph])
    del tables["CUPTI_ACTIVITY_KIND_KERNEL"]
    told = tell(tables)
    assert told["range"] == [
        {
            "process": PID,
            "device": 0,
            "stream": 7,
            "start_ns": 600,
            "end_ns": 700,
            "name": "graph 4",
            "kind": "graph",
            "id": 5,
            "args": '{"correlationId": 5, "graphId": 4}',
        }
    ]
    assert "kernel" not in told.tables
    assert told.notes["whole-graphs"].count == 1


def test_the_newest_version_of_a_table_that_has_rows_is_read(tell: Callable[..., Told]) -> None:
    def named(**row: Any) -> list[Row]:
        return [{**KERNEL, **row}]

    tables = minimal(
        CUPTI_ACTIVITY_KIND_KERNEL=named(streamId=1),
        CUPTI_ACTIVITY_KIND_KERNEL_V2=named(streamId=2),
        CUPTI_ACTIVITY_KIND_KERNEL_V10=named(streamId=10),
        CUPTI_ACTIVITY_KIND_KERNEL_V11=[],
    )
    told = tell(tables)
    assert [row["stream"] for row in told["kernel"]] == [10]
    assert told.notes["table-versions"].example == (
        "CUPTI_ACTIVITY_KIND_KERNEL_V10 1, CUPTI_ACTIVITY_KIND_KERNEL_V2 1, CUPTI_ACTIVITY_KIND_KERNEL 1"
    )
    alone = {"StringIds_V2": STRING_ROWS, "CUPTI_ACTIVITY_KIND_KERNEL_V3": named(), "NVTX_EVENTS_V2": [RANGE]}
    told = tell(alone)
    assert ([r["name"] for r in told["kernel"]], [r["name"] for r in told["range"]]) == ([STRINGS[10]], ["forward"])
    assert set(told.notes) == {"no-launch"} or not told.notes


def test_an_empty_table_is_not_collected_and_said_to_be_empty(tell: Callable[..., Told]) -> None:
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[], CUPTI_ACTIVITY_KIND_MEMSET=[], NVTX_EVENTS=[], OSRT_API=[]))
    assert set(told.tables) == {"api", "process"}
    assert told.notes["empty-table"].example == "CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET"


def test_correlations_belong_to_their_process(tell: Callable[..., Told]) -> None:
    other = 1 << 48 | 5200 << 24
    calls = [CALL, {**CALL, "start": 30, "globalTid": other | 5201}]
    told = tell(
        minimal(CUPTI_ACTIVITY_KIND_RUNTIME=calls, CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL, {**KERNEL, "globalPid": other}])
    )
    linked = [(row["process"], row["launch_ns"], row["launch_thread"]) for row in told["kernel"]]
    assert linked == [(PID, 90, TID), (5200, 30, 5201)]


def test_processes_of_two_machines_with_one_id_stay_two(tell: Callable[..., Told]) -> None:
    other = 2 << 48 | PID << 24
    told = tell(
        minimal(
            CUPTI_ACTIVITY_KIND_RUNTIME=[CALL, {**CALL, "start": 30, "globalTid": other | TID}],
            CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL, {**KERNEL, "globalPid": other}],
        )
    )
    assert [(row["process"], row["launch_ns"]) for row in told["kernel"]] == [(PID, 90), (other >> 24, 30)]
    assert [(row["process"], row["pid"]) for row in told["process"]] == [(PID, PID), (other >> 24, PID)]
    assert told.notes["process-id"].count == 1


def test_device_work_without_a_process_belongs_to_the_only_one(tell: Callable[..., Told]) -> None:
    bare = {name: value for name, value in KERNEL.items() if name not in ("globalPid", "contextId")}
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[bare]))
    assert [(row["process"], row["launch_ns"]) for row in told["kernel"]] == [(PID, 90)]
    two = [CALL, {**CALL, "globalTid": 1 << 48 | 9 << 24}]
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[bare], CUPTI_ACTIVITY_KIND_RUNTIME=two))
    assert [row["process"] for row in told["kernel"]] == [0]
    assert told.notes["no-process"].count == 1


def test_kernel_names_fall_back_to_what_the_table_has(tell: Callable[..., Told]) -> None:
    short = {name: value for name, value in KERNEL.items() if name != "demangledName"}
    assert tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[short]))["kernel"][0]["name"] == "gemm"
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[{**KERNEL, "demangledName": 0}, KERNEL]))
    assert [
        (row.get("name"), row.get("args")) for row in sorted(told["kernel"], key=lambda row: row.get("name", ""))
    ] == [
        (None, '{"shortName": "gemm"}'),
        (STRINGS[10], None),
    ]
    assert told.notes["unnamed-kernel"].count == 1
    nameless = {**KERNEL, "demangledName": 99, "shortName": 99}
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=[nameless, {**KERNEL, "demangledName": 0}]))
    assert [(row.get("name"), row.get("args")) for row in told["kernel"]] == [
        (None, None),
        (None, '{"shortName": "gemm"}'),
    ]
    note = told.notes["unnamed-kernel"]
    assert (note.count, note.example) == (2, "gemm")
    assert note.meaning.endswith("the short one is in args, where it holds that")


def test_the_oldest_schema_is_read(tell: Callable[..., Told]) -> None:
    card = {"vmId": 1, "name": "Tesla", "globalMemoryBandwidth": 760080000, "globalMemorySize": 10**10, "deviceId": 0}
    card |= {"coreClockRate": 1740000, "numMultiprocessors": 68, "pid": PID}
    card |= {"computeCapabilityMajor": 8, "computeCapabilityMinor": 6, "l2CacheSize": 5242880}
    told = tell(
        minimal(
            EXPORT_META_DATA=[{"name": "EXPORT_PRODUCT_VERSION", "value": "2020.3"}],
            CUPTI_ACTIVITY_KIND_RUNTIME=[{**CALL, "eventClass": 67}, {**CALL, "nameId": 21, "correlationId": 6}],
            TARGET_INFO_CUDA_GPU=[card],
            TARGET_INFO_GPU=[{"vmId": 1, "deviceId": 0, "name": "Tesla"}],
        )
    )
    assert (told.facts.producer, told.facts.base_unix_ns) == ("NVIDIA Nsight Systems 2020.3", None)
    assert [(row["name"], row["kind"]) for row in told["api"]] == [
        ("cudaLaunchKernel_v7000", "runtime"),
        ("cuMemcpyAsync", "driver"),
    ]
    assert told["device"] == [
        {
            "process": PID,
            "device": 0,
            "name": "Tesla",
            "vendor": "nvidia",
            "compute_units": 68,
            "memory_bytes": 10**10,
            "memory_bandwidth": 760080000000,
            "clock_hz": 1740000000,
            "architecture": "8.6",
            "args": '{"l2CacheSize": 5242880}',
        }
    ]


def test_devices_are_numbered_as_their_process_numbers_them(tell: Callable[..., Told]) -> None:
    cards = [
        {"id": at, "cuDevice": at, "name": f"card {at}", "smCount": 100 + at, "computeMajor": 9, "computeMinor": 0}
        for at in (0, 1)
    ]
    mapping = [{"gpuId": 1, "cudaId": 0, "pid": PID}]
    told = tell(minimal(TARGET_INFO_GPU=cards, TARGET_INFO_CUDA_DEVICE=mapping))
    assert [(row["device"], row["name"], row["compute_units"]) for row in told["device"]] == [(0, "card 1", 101)]
    told = tell(minimal(TARGET_INFO_GPU=cards))
    assert [(row["process"], row["device"], row["name"]) for row in told["device"]] == [
        (PID, 0, "card 0"),
        (PID, 1, "card 1"),
    ]


def test_threads_and_streams_of_processes_with_events_are_named(tell: Callable[..., Told]) -> None:
    stranger = 1 << 48 | 77 << 24
    stream = {"streamId": 7, "hwId": 0, "vmId": 1, "processId": PID, "contextId": 1}
    told = tell(
        minimal(
            ThreadNames=[{"nameId": 24, "globalTid": THREAD}, {"nameId": 24, "globalTid": stranger}],
            PROCESSES=[
                {"globalPid": PROCESS, "pid": PID, "name": "train"},
                {"globalPid": stranger, "pid": 77, "name": "x"},
            ],
            TARGET_INFO_CUDA_STREAM=[
                {**stream, "priority": 0, "flag": 3},
                {**stream, "streamId": 13, "priority": -5, "flag": 2},
                {**stream, "processId": 77},
            ],
            TARGET_INFO_NVTX_CUDA_STREAM=[{**stream, "streamId": 13, "name": "compute"}],
        )
    )
    assert told["track"] == [
        {"process": PID, "track": TID, "name": "worker", "kind": "thread"},
        {"process": PID, "track": 7, "name": "null stream 7", "kind": "stream", "args": '{"contextId": 1}'},
        {"process": PID, "track": 13, "name": "compute", "kind": "stream", "args": '{"contextId": 1, "priority": -5}'},
    ]
    assert told["process"] == [{"process": PID, "pid": PID, "name": "train"}]


def test_the_facts_come_from_what_the_export_says_of_itself(tell: Callable[..., Told]) -> None:
    machine = {"Hostname": "node7", "NvDriverVersion": "570.1", "CpuCores": "64", "DeviceEnvironment": "TOKEN=hunter2"}
    told = tell(
        minimal(
            META_DATA_EXPORT=PRODUCER,
            TARGET_INFO_SYSTEM_ENV=[{"name": name, "value": value} for name, value in machine.items()],
            TARGET_INFO_SESSION_START_TIME=[{"utcEpochNs": 1_700_000_000_000_000_001}],
            ANALYSIS_DETAILS=[{"duration": 5000, "startTime": 1, "stopTime": 5001}],
        )
    )
    assert told.facts == Facts(
        "nsys",
        producer="NVIDIA Nsight Systems 2026.2.1.210",
        host="node7",
        clock="nanoseconds since the session began",
        base_unix_ns=1_700_000_000_000_000_001,
        labels={"driver": "570.1", "cpu_cores": "64", "export_schema": "3.25.0", "session_ns": "5000"},
    )
    assert told["process"] == [{"process": PID, "pid": PID, "host": "node7"}]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (['RANK="3"', 'WORLD_SIZE="8"', 'SLURM_PROCID="0"'], {"rank": 3, "world_size": 8}),
        (["OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4"], {"rank": 2, "world_size": 4}),
        (['SLURM_PROCID="x"', 'WORLD_SIZE="8"'], {}),
    ],
)
def test_of_the_environment_nothing_is_kept_but_the_rank(
    tell: Callable[..., Told], environment: list[str], expected: Row
) -> None:
    captured = [{"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": v} for v in [*environment, 'API_TOKEN="hunter2"']]
    told = tell(
        minimal(
            PROCESS_ENVIRONMENT=[{"value": "hunter2"}],
            META_DATA_CAPTURE=[*captured, {"name": "PROCESS_0:ARGUMENT_1", "value": "--password=hunter2"}],
            ANALYSIS_FILE=[{"id": 1, "filename": "environment", "content": "API_TOKEN=hunter2"}],
            TARGET_INFO_SOMETHING=[{"name": "hunter2"}],
        )
    )
    assert told["process"] == [{"process": PID, "pid": PID, **expected}]
    assert "hunter2" not in str((told.tables, told.notes, told.facts))


def test_with_several_working_processes_the_environments_rank_is_nobodys(tell: Callable[..., Told]) -> None:
    other = 1 << 48 | 5200 << 24
    tables = minimal(
        CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL, {**KERNEL, "globalPid": other}],
        META_DATA_CAPTURE=[{"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": 'RANK="0"'}],
    )
    assert [row.get("rank") for row in tell(tables)["process"]] == [None, None]
    tables["MPI_RANKS"] = [{"globalTid": THREAD, "rank": 5}, {"globalTid": other, "rank": 6}]
    assert [row.get("rank") for row in tell(tables)["process"]] == [5, 6]


def test_what_the_profiler_warned_of_reaches_the_reader(tell: Callable[..., Told]) -> None:
    texts = (
        (1, "Profiling has started."),
        (2, "Not all CUDA events might\nhave been collected."),
        (2, "Old driver."),
        (3, "Failed."),
    )
    told = tell(minimal(DIAGNOSTIC_EVENT=[{"severity": severity, "text": text} for severity, text in texts]))
    assert {kind: note.example for kind, note in told.notes.items()} == {
        "lost-events": "Not all CUDA events might have been collected.",
        "profiler-warning": "Old driver.",
        "profiler-error": "Failed.",
    }


def test_small_unknown_tables_are_kept_as_they_are_and_large_ones_counted(tell: Callable[..., Told]) -> None:
    told = tell(
        minimal(
            NEW_EVENTS=[{"timestamp": 5, "nameId": 24, "value": 1.5, "nothing": None}],
            SCHED_EVENTS=[{"start": at, "cpu": 1} for at in range(3)],
            OTHER_NEW=[{"a": at} for at in range(10_001)],
            ENUM_NEW=[{"id": 1, "name": "x"}],
        )
    )
    assert told["other"] == [
        {"time_ns": 5, "kind": "NEW_EVENTS", "json": '{"timestamp": 5, "nameId": "worker", "value": 1.5}'}
    ]
    assert (told.notes["unread-table"].count, told.notes["unread-table"].example) == (
        10_004,
        "OTHER_NEW 10,001, SCHED_EVENTS 3",
    )


def test_events_that_cannot_be_are_repaired_or_left_out_and_counted(tell: Callable[..., Told]) -> None:
    kernels = [
        {**KERNEL, "start": None},
        {**KERNEL, "start": 2**62},
        {**KERNEL, "end": -(2**63)},
        {**KERNEL, "start": 1, "end": None},
        {**KERNEL, "start": 2, "gridX": 2**40, "deviceId": 2**50, "streamId": None},
        {**KERNEL, "start": 3, "end": "soon"},
    ]
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=kernels))
    assert [(r["device"], r["stream"], r["start_ns"], r["end_ns"]) for r in told["kernel"]] == [
        (0, 0, 2, 150),
        (0, 7, 1, 1),
        (0, 7, 3, 3),
    ]
    assert {kind: note.count for kind, note in told.notes.items()} == {
        "before-launch": 3,
        "shared-launch": 3,
        "no-time": 3,
        "no-end": 2,
        "out-of-range": 2,
        "no-device": 1,
        "no-stream": 1,
        "ill-typed": 1,
    }


def test_a_view_in_the_place_of_a_needed_table_is_refused_and_others_are_nothing(
    tell: Callable[..., Told], tmp_path: Path
) -> None:
    path = write(tmp_path / "view.sqlite", {**minimal(META_DATA_EXPORT=PRODUCER), "KERNELS": [KERNEL]})
    with closing(sqlite3.connect(path)) as database:
        database.execute("create view top as select * from KERNELS")
        database.execute("create view CUPTI_ACTIVITY_KIND_KERNEL_V2 as select * from KERNELS")
        assert len(tell(path)["kernel"]) == 1
        database.execute("drop table CUPTI_ACTIVITY_KIND_KERNEL")
        database.execute("create view CUPTI_ACTIVITY_KIND_KERNEL as select * from KERNELS")
    with pytest.raises(UnreadableFile, match="CUPTI_ACTIVITY_KIND_KERNEL_V2 is a view, not a table"):
        tell(path)


def test_tables_are_known_in_whatever_case_their_names_are(tell: Callable[..., Told]) -> None:
    tables = {"StringIDs": STRING_ROWS, "CUPTI_ACTIVITY_KIND_rUNTIME": [CALL], "CUPTI_ACTIVITY_KIND_KERNEl": [KERNEL]}
    told = tell(tables)
    assert [row["name"] for row in told["api"] + told["kernel"]] == [STRINGS[20], STRINGS[10]]
    assert "other" not in told.tables


def test_other_databases_are_not_recognised(tmp_path: Path) -> None:
    nvprof = {"_id_": 1, "start": 1, "end": 2, "cbid": 5}
    for tables in (
        {"StringTable": [{"_id_": 1}], "CUPTI_ACTIVITY_KIND_RUNTIME": [nvprof], "CUPTI_ACTIVITY_KIND_KERNEL": [nvprof]},
        {"rocpd_string": [{"id": 1}], "rocpd_op": [{"start": 1}], "rocpd_metadata": [{"tag": "x"}]},
        {"StringIds": STRING_ROWS, "notes": [{"start": 1}]},
    ):
        assert not nsys.recognises(open_file(write(tmp_path / "x.sqlite", tables)))
    (tmp_path / "y").write_bytes(b"SQLite format 3\0" + bytes(1000))
    with pytest.raises(OpaqueFile, match="file is not a database"):
        nsys.recognises(open_file(tmp_path / "y"))


def test_each_schema_generation_is_recognised_also_compressed(tmp_path: Path) -> None:
    for tables in (
        {"META_DATA_EXPORT": PRODUCER},
        {"EXPORT_META_DATA": PRODUCER},
        {"StringIds": STRING_ROWS, "CUPTI_ACTIVITY_KIND_MEMCPY": [KERNEL]},
        {"StringIds": STRING_ROWS, "NVTX_EVENTS_V3": [RANGE]},
    ):
        path = write(tmp_path / "x.sqlite", tables)
        assert nsys.recognises(open_file(path))
        packed = tmp_path / "x.sqlite.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert nsys.recognises(open_file(packed))


def test_a_compressed_export_is_the_same_trace(tell: Callable[..., Told], tmp_path: Path) -> None:
    path = write(tmp_path / "plain.sqlite", minimal())
    packed = tmp_path / "plain.sqlite.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert tell(packed).tables == tell(path).tables
    file, plain = open_file(packed), open_file(path)
    with Archive(tmp_path / "archive").stage() as staging:
        nsys.read(file, Sink(staging))
        nsys.read(plain, Sink(staging))
    assert file.sha256 == plain.sha256


def test_large_tables_are_read_the_fast_way_with_the_same_result(
    tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = minimal(
        CUPTI_ACTIVITY_KIND_KERNEL=[{**KERNEL, "start": at, "end": at + 9, "streamId": at % 3} for at in range(500)],
        CUPTI_ACTIVITY_KIND_RUNTIME=[{**CALL, "start": at, "correlationId": at} for at in range(500)],
        NVTX_EVENTS=[{**RANGE, "text": f"step {at}", "doubleValue": at / 2} for at in range(300)],
    )
    through_the_driver = tell(tables)
    monkeypatch.setattr(sqlite, "LARGE_FILE", 0)
    assert tell(tables).tables == through_the_driver.tables


ODD = st.one_of(
    st.none(),
    st.sampled_from([0, -1, 2**62, 2**63 - 1, -(2**63), 1e300, -0.5, "", "\x00", "x", b"\xff\x00", b"ab"]),
)
EVERY_TABLE: Tables = minimal(
    META_DATA_EXPORT=PRODUCER,
    META_DATA_CAPTURE=[{"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": "RANK=1"}],
    CUPTI_ACTIVITY_KIND_MEMCPY=[
        {**KERNEL, "bytes": 1, "copyKind": 10, "srcKind": 1, "srcDeviceId": 1, "dstDeviceId": 0}
    ],
    CUPTI_ACTIVITY_KIND_MEMSET=[{**KERNEL, "bytes": 1, "value": 1, "memKind": 2}],
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION=[{**KERNEL, "syncType": 1, "eventId": 1}],
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE=[{**KERNEL, "graphId": 1, "graphExecId": 1}],
    NVTX_EVENTS=[
        {**RANGE, "eventType": kind, "text": "t", "category": 1, "doubleValue": 1.0} for kind in (59, 33, 39, 75)
    ],
    OSRT_API=[{**CALL, "nestingLevel": 1}],
    CUDA_UM_GPU_PAGE_FAULT_EVENTS=[{**KERNEL, "address": 1, "numberOfPageFaults": 1, "faultAccessType": 1}],
    CUDA_UM_CPU_PAGE_FAULT_EVENTS=[{**KERNEL, "address": 1}],
    CUDA_GPU_MEMORY_USAGE_EVENTS=[{**KERNEL, "address": 1, "bytes": 1, "memKind": 2, "memoryOperationType": 0}],
    PROCESSES=[{"globalPid": PROCESS, "name": "p"}],
    ThreadNames=[{"globalTid": THREAD, "nameId": 24}],
    MPI_RANKS=[{"globalTid": THREAD, "rank": 1}],
    DIAGNOSTIC_EVENT=[{"severity": 2, "text": "t"}],
    ANALYSIS_DETAILS=[{"duration": 1}],
    TARGET_INFO_SESSION_START_TIME=[{"utcEpochNs": 1}],
    TARGET_INFO_GPU=[{"id": 0, "cuDevice": 0, "name": "g", "smCount": 1, "totalMemory": 1, "computeMajor": 9}],
    TARGET_INFO_CUDA_DEVICE=[{"gpuId": 0, "cudaId": 0, "pid": PID}],
    TARGET_INFO_CUDA_GPU=[{"deviceId": 0, "pid": PID, "coreClockRate": 1, "name": "g"}],
    TARGET_INFO_CUDA_STREAM=[{"streamId": 7, "processId": PID, "contextId": 1, "priority": 1, "flag": 1}],
    ENUM_CUDA_MEMCPY_OPER=[{"id": 10, "name": "CUDA_MEMCPY_KIND_PTOP"}],
    UNKNOWN_EVENTS=[{"start": 1, "nameId": 24, "value": 1}],
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_of_any_type_in_any_column_breaks_the_reader(tell: Callable[..., Told], data: st.DataObject) -> None:
    odd = {table: [dict(row) for row in rows] for table, rows in EVERY_TABLE.items()}
    for table in data.draw(st.lists(st.sampled_from(sorted(odd)), min_size=1, max_size=4)):
        row = data.draw(st.sampled_from(odd[table]))
        for column in data.draw(st.lists(st.sampled_from(sorted(row)), min_size=1, max_size=5)):
            row[column] = data.draw(ODD)
    told = tell(odd)
    assert told.facts.format == "nsys"


def _damaged(path: Path, kind: str, numbers: random.Random) -> bytes:
    content = bytearray(path.read_bytes())
    if kind == "cut":
        return bytes(content[: numbers.randrange(len(content))])
    for _ in range(numbers.randint(1, 6)):
        content[numbers.randrange(len(content))] = numbers.randrange(256)
    return bytes(content)


def _scope(path: Path) -> tuple[int, int | None] | None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        try:
            return database.execute("select count(*), sum(start) from CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            return None


@pytest.mark.parametrize("kind", ["cut", "flipped"])
def test_a_damaged_export_is_refused_or_read_as_it_stands(tell: Callable[..., Told], tmp_path: Path, kind: str) -> None:
    kernels = [{**KERNEL, "start": at * 100, "end": at * 100 + 50} for at in range(150)]
    good = write(tmp_path / "good.sqlite", minimal(CUPTI_ACTIVITY_KIND_KERNEL=kernels, NVTX_EVENTS=[RANGE] * 100))
    numbers = random.Random(11)
    outcomes: set[str] = set()
    for _ in range(120):
        bad = tmp_path / "bad.sqlite"
        bad.write_bytes(_damaged(good, kind, numbers) or b"x")
        try:
            if not nsys.recognises(open_file(bad)):
                outcomes.add("not recognised")
                continue
            told = tell(bad)
        except UnreadableFile:
            outcomes.add("refused")
            continue
        outcomes.add("read")
        if "no-time" not in told.notes and "ill-typed" not in told.notes and (scope := _scope(bad)):
            found = told.tables.get("kernel", [])
            assert (len(found), sum(row["start_ns"] for row in found) or None) == (scope[0], scope[1] or None)
    assert "refused" in outcomes or kind == "cut"
    assert "read" in outcomes or kind == "cut"


def test_a_damaged_table_that_nothing_depends_on_is_left_out(tell: Callable[..., Told], tmp_path: Path) -> None:
    spans = [{"start": at, "end": at + 1, "globalTid": THREAD, "nameId": 22} for at in range(3000)]
    for table, refused in (
        ("OSRT_API", False),
        ("NVTX_EVENTS", False),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", True),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", True),
    ):
        path = write(tmp_path / "report.sqlite", minimal(**{table: spans}))
        with closing(sqlite3.connect(path)) as database:
            root = database.execute("select rootpage from sqlite_master where name = ?", [table]).fetchone()[0]
        content = bytearray(path.read_bytes())
        content[(root - 1) * 4096 + 3 : (root - 1) * 4096 + 5] = b"\xff\xff"
        path.write_bytes(content)
        if refused:
            with pytest.raises(UnreadableFile, match=f"table {table} is damaged"):
                tell(path)
        else:
            told = tell(path)
            assert set(told.tables) == {"api", "kernel", "process", "device"}
            assert told.notes["damaged-table"].example.startswith(f"{table}: ")


@pytest.mark.parametrize("large", [False, True])
def test_a_page_of_nvtx_that_is_zero_costs_the_ranges_alone(
    tell: Callable[..., Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(sqlite, "LARGE_FILE", 0 if large else 1 << 24)
    copies = [{**KERNEL, "start": 200, "end": 210, "bytes": 64, "copyKind": 1}]
    ranges = [{**RANGE, "start": at, "end": at + 5, "text": f"step {at}"} for at in range(600)]
    path = write(tmp_path / "report.sqlite", minimal(CUPTI_ACTIVITY_KIND_MEMCPY=copies, NVTX_EVENTS=ranges))
    content = bytearray(path.read_bytes())
    page = content.index(b"step 300") // 4096 * 4096
    content[page : page + 4096] = bytes(4096)
    path.write_bytes(content)
    told = tell(path)
    assert set(told.tables) == {"api", "copy", "kernel", "process", "device"}
    assert [(row["name"], row["start_ns"], row["end_ns"]) for row in told["kernel"]] == [(STRINGS[10], 100, 150)]
    assert [(row["kind"], row["bytes"]) for row in told["copy"]] == [("HtoD", 64)]
    assert [row["name"] for row in told["api"]] == [STRINGS[20]]
    assert told.notes["damaged-table"].count == 1
    assert told.notes["damaged-table"].example.startswith("NVTX_EVENTS: ")
    trace, _ = ingest.read(path, Archive(tmp_path / "other"))
    found = health(trace, {"range": "nsys profile --trace=nvtx"})
    because = {one.quantity: [note.kind for note in one.because] for one in found.unreliable}
    assert "damaged-table" in because[COUNTS]
    (ranges,) = [one for one in found.missing if one.table == "range"]
    assert (ranges.hint, ranges.doubt) == (None, PART_LOST)


def test_a_file_cut_short_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "whole.sqlite", minimal(META_DATA_EXPORT=PRODUCER))
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(OpaqueFile, match=r"cut\.sqlite: cut short"):
        reader_of(open_file(cut))


NUMBER = st.integers(0, 2**40)
KERNELS = st.lists(
    st.fixed_dictionaries(
        {
            "start": NUMBER,
            "end": NUMBER,
            "deviceId": st.integers(0, 3),
            "streamId": st.integers(0, 40),
            "correlationId": st.integers(1, 30),
            "globalPid": st.sampled_from([PROCESS, 1 << 48 | 5200 << 24]),
            "demangledName": st.sampled_from([10, 11]),
            "gridX": st.integers(1, 2**31 - 1),
            "sharedMemoryExecuted": st.sampled_from([0, 1024, None]),
        }
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kernels=KERNELS)
def test_every_kernel_arrives_once_with_its_values(tell: Callable[..., Told], kernels: list[Row]) -> None:
    told = tell(minimal(CUPTI_ACTIVITY_KIND_KERNEL=kernels))
    expected = [
        (
            *(k["globalPid"] >> 24 & 0xFFFFFF, k["deviceId"], k["streamId"], k["start"], k["end"]),
            *(STRINGS[k["demangledName"]], k["gridX"], k["correlationId"]),
            {"sharedMemoryExecuted": 1024} if k["sharedMemoryExecuted"] else {},
        )
        for k in kernels
    ]
    columns = ("process", "device", "stream", "start_ns", "recorded_end_ns", "name", "grid_x", "correlation")
    found: list[tuple[Any, ...]] = []
    for row in told.tables["kernel"]:
        args = json.loads(row["args"] or "{}")
        recorded = args.pop("recorded_end_ns", row["end_ns"])
        assert row["end_ns"] == (row["start_ns"] if row["flaw"] else recorded)
        assert (row["flaw"] == "negative duration") == (recorded < row["start_ns"])
        found.append((*({**row, "recorded_end_ns": recorded}[c] for c in columns), args))
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert [row[:4] for row in found] == sorted(row[:4] for row in expected)


def _trace(files: dict[str, Path]) -> Any:
    from tracelode.store.trace import Trace

    rows = {table: pq.read_metadata(path).num_rows for table, path in files.items()}
    return Trace("one", Facts("nsys"), (), files, rows, "one")
