import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect.reading import Tables, Told, damaged, packed, read, with_odd_values, write
from tracelode.collect.files import open_file
from tracelode.collect.readers import nsys, rocpd, rpd
from tracelode.store.errors import UnreadableFile

Row = dict[str, Any]
SUFFIX = "_0000a1b2_c3d4_7565_938c_1314a3ac3a92"
TEXTS = {
    1: "",
    2: "hipLaunchKernel",
    3: "HIP_RUNTIME_API_EXT",
    4: "KERNEL_DISPATCH",
    5: "MEMORY_COPY_HOST_TO_DEVICE",
    6: "MARKER_CORE_RANGE_API",
    7: "roctxRangePushA",
    8: "RCCL_API",
    9: "ncclAllReduce",
    10: "power",
    11: "hsa_queue_create",
    12: "HSA_CORE_API",
    13: "copy",
}
STRINGS = [{"id": key, "guid": "g", "string": value} for key, value in TEXTS.items()]
PLACE = {"nid": 1, "pid": 4, "tid": 6}
DISPATCHED = {"agent_id": 8, "queue_id": 2, "stream_id": 5}
AGENTS = ("source_agent", "target_agent")
SIZES = {
    **{f"workgroup_size_{axis}": size for axis, size in zip("xyz", (256, 1, 1), strict=True)},
    **{f"grid_size_{axis}": size for axis, size in zip("xyz", (1000, 2, 1), strict=True)},
}
DISPATCH = {"id": 1, "kernel_id": 3, "dispatch_id": 1, "group_segment_size": 512, **SIZES, "event_id": 2}
MOVE = {"id": 1, "name_id": 5, "dst_agent_id": 8, "src_agent_id": 7, "dst_address": 64, "src_address": 0, "size": 4096}


def event(id: int, category: int, stack: int, parent: int = 0, extdata: str = "{}") -> Row:
    return {"id": id, "category_id": category, "stack_id": stack, "parent_stack_id": parent, "correlation_id": 0} | {
        "call_stack": "{}",
        "extdata": extdata,
    }


def region(id: int, start: int, end: int, name: int, event: int | None) -> Row:
    return {"id": id, **PLACE, "start": start, "end": end, "name_id": name, "event_id": event, "extdata": "{}"}


def described(pid: int = 70) -> Tables:
    gpu = {"id": 8, "nid": 1, "pid": 4, "type": "GPU", "absolute_index": 2, "name": "gfx942", "vendor_name": "AMD"}
    more = {"product_name": "AMD Instinct MI300X", "extdata": '{"cu_count": 304, "max_engine_clk_fcompute": 2100}'}
    environment = '{"SECRET_TOKEN": "s3cr3t", "RANK": "3", "WORLD_SIZE": "8"}'
    symbol = {"id": 3, "kernel_name": "_Z4gemmPf.kd", "display_name": "gemm(float*)", "arch_vgpr_count": 24}
    return {
        "rocpd_metadata": [{"id": 1, "tag": "schema_version", "value": "3"}],
        "rocpd_string": STRINGS,
        "rocpd_info_node": [{"id": 1, "hostname": "node1", "system_name": "Linux"}],
        "rocpd_info_process": [{"id": 4, "nid": 1, "pid": pid, "command": "./app", "environment": environment}],
        "rocpd_info_thread": [{"id": 6, "nid": 1, "pid": 4, "tid": 71, "name": "worker"}],
        "rocpd_info_agent": [{"id": 7, "nid": 1, "pid": 4, "type": "CPU", "absolute_index": 0}, {**gpu, **more}],
        "rocpd_info_queue": [{"id": 2, "nid": 1, "pid": 4, "name": "Queue 0"}],
        "rocpd_info_kernel_symbol": [{**symbol, "sgpr_count": 16, "accum_vgpr_count": 0}],
    }


def version_3(**tables: list[Row]) -> Tables:
    return {
        **described(),
        "rocpd_event": [event(1, 3, 21), event(2, 4, 21, 21), event(3, 3, 22), event(4, 4, 22, 22)],
        "rocpd_region": [region(1, 100, 110, 2, 1), region(2, 120, 130, 13, 3)],
        "rocpd_arg": [
            {"event_id": 1, "position": 1, "name": "grid", "value": 'a "b"'},
            {"event_id": 1, "position": 0, "name": "f", "value": "0x1"},
        ],
        "rocpd_kernel_dispatch": [{**DISPATCH, **PLACE, **DISPATCHED, "start": 150, "end": 190, "extdata": "{}"}],
        "rocpd_memory_copy": [{**MOVE, **PLACE, "queue_id": 2, "start": 200, "end": 230, "event_id": 4}],
        **tables,
    }


def suffixed(tables: Tables, suffix: str = SUFFIX) -> Tables:
    return {name + suffix: rows for name, rows in tables.items()}


KERNEL = {
    "process": 70,
    "device": 2,
    "stream": 2,
    "start_ns": 150,
    "end_ns": 190,
    "name": "gemm(float*)",
    "grid_x": 4,
    "grid_y": 2,
    "grid_z": 1,
    "block_x": 256,
    "block_y": 1,
    "block_z": 1,
    "registers": 24,
    "shared_bytes": 512,
    "correlation": 21,
    "launch": 0,
    "launch_ns": 100,
    "launch_thread": 71,
    "args": '{"stream_id": 5, "thread": 71, "sgpr_count": 16}',
}
COPY = {
    "process": 70,
    "device": 2,
    "stream": 2,
    "start_ns": 200,
    "end_ns": 230,
    "kind": "HtoD",
    "bytes": 4096,
    "target_memory": "device",
    "correlation": 22,
    "launch": 1,
    "launch_ns": 120,
    "launch_thread": 71,
    "args": '{"thread": 71, "source_agent": 0, "target_address": 64}',
}


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Path | Tables], Told]:
    def tell(source: Path | Tables) -> Told:
        path = source if isinstance(source, Path) else write(tmp_path / "results.db", suffixed(source))
        return read(rocpd, path, tmp_path)

    return tell


def test_a_recording_of_schema_3_is_read_and_linked(tell: Callable[[Tables], Told]) -> None:
    told = tell(version_3())
    assert told["kernel"] == [KERNEL]
    assert told["copy"] == [COPY]
    call = {"process": 70, "thread": 71, "kind": "runtime"}
    assert [{**r, "args": json.loads(r["args"])} for r in told["api"]] == [
        {**call, "start_ns": 100, "end_ns": 110, "name": "hipLaunchKernel", "correlation": 21}
        | {"args": {"arguments": {"f": "0x1", "grid": 'a "b"'}, "category": "HIP_RUNTIME_API_EXT"}},
        {**call, "start_ns": 120, "end_ns": 130, "name": "copy", "correlation": 22}
        | {"args": {"category": "HIP_RUNTIME_API_EXT"}},
    ]
    assert told["process"] == [{"process": 70, "pid": 70, "rank": 3, "world_size": 8, "name": "./app", "host": "node1"}]
    assert told["device"] == [
        {"process": 70, "device": 2, "name": "AMD Instinct MI300X", "vendor": "amd", "compute_units": 304}
        | {"clock_hz": 2_100_000_000, "architecture": "gfx942", "args": '{"type": "GPU"}'}
    ]
    assert told["track"] == [
        {"process": 70, "track": 71, "name": "worker", "kind": "thread"},
        {"process": 70, "track": 2, "name": "Queue 0", "kind": "stream"},
    ]
    assert told.notes == {}
    assert (told.facts.producer, told.facts.host) == ("rocpd schema 3", "node1")
    assert "s3cr3t" not in str(told.tables)


def test_an_argument_without_a_name_has_an_empty_one(tell: Callable[[Tables], Told]) -> None:
    passed = [{"event_id": 1, "position": at, "name": name, "value": "x"} for at, name in enumerate(("f", None))]
    told = tell(version_3(rocpd_arg=passed))
    assert json.loads(told["api"][0]["args"])["arguments"] == {"f": "x", "": "x"}


@pytest.mark.parametrize("spine", [True, False], ids=["4.0", "4.1"])
def test_a_recording_of_schema_4_gives_the_same(tell: Callable[[Tables], Told], spine: bool) -> None:
    """No recorded file of schema 4 is at hand: these tables follow its published definition."""
    times: list[Row] = []

    def moved(row: Row, track: int) -> Row:
        kept = {name: value for name, value in row.items() if name not in (*PLACE, *DISPATCHED, "call_stack")}
        for edge in ("start", "end") if spine else ():
            times.append({"id": 90 - len(times), "value": kept.pop(edge), "track_id": track})
            kept[f"{edge}_id"] = times[-1]["id"]
        return {**kept, "track_id": track}

    old = version_3()
    categories = {3: 1, 4: 2}
    new = {
        **old,
        "rocpd_info_category": [{"id": number, "name": TEXTS[text]} for text, number in categories.items()],
        "rocpd_track": [
            {"id": 1, **PLACE, "agent_id": None, "queue_id": None, "stream_id": None, "name_id": None},
            {"id": 2, **PLACE, **DISPATCHED, "name_id": None},
            {"id": 3, **PLACE, "agent_id": 8, "queue_id": 2, "stream_id": None, "name_id": None},
        ],
        "rocpd_event": [
            {n: v for n, v in r.items() if n != "call_stack"} | {"category_id": categories[r["category_id"]]}
            for r in old["rocpd_event"]
        ],
        "rocpd_region": [moved(r, 1) for r in old["rocpd_region"]],
        "rocpd_kernel_dispatch": [moved(r, 2) for r in old["rocpd_kernel_dispatch"]],
        "rocpd_memory_copy": [moved(r, 3) for r in old["rocpd_memory_copy"]],
        "rocpd_timestamp": times,
    }
    told = tell(new)
    assert told.tables == tell(old).tables
    assert told.notes == {}


def test_the_category_of_a_region_tells_what_it_is(tell: Callable[[Tables], Told]) -> None:
    told = tell(
        version_3(
            rocpd_event=[event(1, 6, 31, extdata='{"message": "step 1"}'), event(2, 8, 32), event(3, 12, 33)],
            rocpd_region=[
                region(1, 1, 9, 7, 1),
                region(2, 2, 8, 9, 2),
                region(3, 3, 4, 11, 3),
                region(4, 5, 6, 13, None),
            ],
            rocpd_arg=[],
        )
    )
    assert [(r["name"], r["kind"], r["domain"]) for r in told["range"]] == [
        ("step 1", "annotation", "MARKER_CORE_RANGE_API"),
        ("ncclAllReduce", "rccl", "RCCL_API"),
    ]
    assert [(r["name"], r["kind"], r.get("correlation")) for r in told["api"]] == [
        ("hsa_queue_create", "driver", 33),
        ("copy", "runtime", None),
    ]


def test_a_copy_belongs_to_the_gpu_of_its_two_agents(tell: Callable[[Tables], Told]) -> None:
    back = {**MOVE, **PLACE, "queue_id": None, "stream_id": 5, "start": 1, "end": 2, "event_id": None}
    copies = [
        {**back, "dst_agent_id": 7, "src_agent_id": 8, "name_id": 13},
        {**back, "src_agent_id": 8, "name_id": 1},
        {**back, "dst_agent_id": None, "src_agent_id": 7, "agent_id": 8},
    ]
    told = tell(version_3(rocpd_memory_copy=copies))
    assert [(r["device"], r["kind"], {n: json.loads(r["args"]).get(n) for n in AGENTS}) for r in told["copy"]] == [
        (2, "DtoH", {"source_agent": 2, "target_agent": 0}),
        (2, "DtoD", {"source_agent": 2, "target_agent": None}),
        (2, "HtoD", {"source_agent": 0, "target_agent": None}),
    ]
    assert {(r["stream"], r.get("peer_device")) for r in told["copy"]} == {(5, None)}
    assert [(r["device"], r["name"]) for r in told["device"]] == [(2, "AMD Instinct MI300X")]


def test_a_copy_between_gpus_belongs_to_the_one_it_goes_to(tell: Callable[[Tables], Told]) -> None:
    tables = version_3(rocpd_memory_copy=[{**MOVE, **PLACE, "dst_agent_id": 9, "src_agent_id": 8, "name_id": 1}])
    tables["rocpd_memory_copy"][0] |= {"queue_id": 2, "start": 1, "end": 2, "event_id": None}
    other = {"id": 9, "nid": 1, "pid": 4, "type": "GPU", "absolute_index": 3, "name": "gfx942", "vendor_name": "AMD"}
    told = tell({**tables, "rocpd_info_agent": [*tables["rocpd_info_agent"], other]})
    assert [(r["device"], r["peer_device"], r["kind"]) for r in told["copy"]] == [(3, 2, "DtoD")]


def test_the_direction_tells_of_agents_that_are_not_described(tell: Callable[[Tables], Told]) -> None:
    back = {**MOVE, **PLACE, "queue_id": 2, "start": 1, "end": 2, "event_id": None}
    there = {**back, "dst_agent_id": 40, "src_agent_id": 50}
    strings = [*STRINGS, {"id": 20, "guid": "g", "string": "MEMORY_COPY_DEVICE_TO_HOST"}]
    told = tell(version_3(rocpd_memory_copy=[there, {**there, "name_id": 20}], rocpd_string=strings))
    assert [(r["kind"], r["device"]) for r in told["copy"]] == [("HtoD", 40), ("DtoH", 50)]


def test_a_copy_within_the_memory_of_the_host_is_no_work_of_a_device(tell: Callable[[Tables], Told]) -> None:
    inside = {**MOVE, **PLACE, "dst_agent_id": 7, "src_agent_id": 7, "name_id": 1, "start": 1, "end": 2}
    tables = version_3(rocpd_memory_copy=[{**inside, "queue_id": None, "event_id": None}], rocpd_kernel_dispatch=[])
    told = tell(tables)
    assert "copy" not in told.tables
    assert "device" not in told.tables
    assert [{n: r[n] for n in ("process", "thread", "start_ns", "end_ns", "name", "kind")} for r in told["range"]] == [
        {"process": 70, "thread": 71, "start_ns": 1, "end_ns": 2, "name": "HtoH", "kind": "host_copy"}
    ]
    assert json.loads(told["range"][0]["args"]) == {"bytes": 4096, "source_agent": 0, "target_agent": 0}
    assert told.counts() == {"host-copy": 1}


def test_memory_lives_from_its_allocation_to_its_release(tell: Callable[[Tables], Told]) -> None:
    def act(start: int, kind: str, address: int | None, size: int, agent: int | None) -> Row:
        return {**PLACE, "agent_id": agent, "type": kind, "level": "REAL", "start": start, "end": start + 1} | {
            "address": address,
            "size": size,
            "event_id": None,
        }

    acts = [act(10, "ALLOC", 64, 100, 8), act(20, "FREE", 64, 0, None), act(30, "ALLOC", 64, 200, 7)]
    told = tell(version_3(rocpd_memory_allocate=[*acts, act(5, "FREE", 8, 0, None), act(6, "ALLOC", None, 9, 8)]))
    block = {"process": 70, "thread": 71}
    assert told["allocation"] == [
        {**block, "device": 2, "kind": "device", "address": 64, "bytes": 100, "birth_ns": 11, "death_ns": 20},
        {**block, "kind": "host", "address": 64, "bytes": 200, "birth_ns": 31},
        {**block, "kind": "unknown", "address": 8, "bytes": 0, "death_ns": 5},
    ]
    assert [(r["kind"], json.loads(r["json"])["size"]) for r in told["other"]] == [("rocpd_memory_allocate", 9)]
    assert told.counts() == {"released-only": 1}


def test_counters_stand_at_their_kernel_or_sample_and_other_samples_are_marks(tell: Callable[[Tables], Told]) -> None:
    sample = {"id": 1, "track_id": 1, "timestamp": 40, "event_id": None}
    told = tell(
        version_3(
            rocpd_track=[{"id": 1, "nid": 1, "pid": 4, "tid": 6, "name_id": 10}],
            rocpd_sample=[sample, {**sample, "timestamp": 50, "event_id": 9}],
            rocpd_info_pmc=[{"id": 1, "agent_id": 8, "name": "SQ_WAVES", "symbol": "SQ_WAVES", "units": "waves"}],
            rocpd_pmc_event=[{"event_id": event, "pmc_id": 1, "value": event + 0.5} for event in (2, 9, 77)],
            rocpd_graph_launch=[{"id": 1, "start": 5}],
            qocpd_region=[{"id": 1, "start": 5}, {"id": 2, "start": 6}],
        )
    )
    assert [(r["time_ns"], r["value"], r["name"], r["unit"], r["device"]) for r in told["counter"]] == [
        (50, 9.5, "SQ_WAVES", "waves", 2),
        (150, 2.5, "SQ_WAVES", "waves", 2),
    ]
    assert [(r["name"], r["start_ns"], r["end_ns"], r["kind"]) for r in told["range"]] == [("power", 40, 40, "mark")]
    assert told["other"] == [{"kind": "rocpd_graph_launch", "json": '{"id": 1, "start": 5}'}]
    assert told.counts() == {"no-time-of-counter": 1, "unknown-table": 3}


def test_a_merged_file_keeps_processes_apart_that_share_a_pid(tell: Callable[[Path], Told], tmp_path: Path) -> None:
    both = suffixed(version_3()) | suffixed(version_3(), "_5f")
    told = tell(write(tmp_path / "merged.db", both))
    assert [(r["process"], r["launch_ns"]) for r in told["kernel"]] == [(70, 100), (70 + 2**32, 100)]
    assert [r["pid"] for r in told["process"]] == [70, 70]
    assert told.counts() == {"process-id": 1}


def test_views_are_never_read(tell: Callable[[Path], Told], tmp_path: Path) -> None:
    path = write(tmp_path / "views.db", suffixed(version_3()))
    with closing(sqlite3.connect(path)) as database:
        database.execute("create view rocpd_region as select * from nowhere")
        database.execute(f"create view rocpd_extra{SUFFIX} as select * from nowhere")
    assert tell(path)["kernel"] == [KERNEL]
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"drop table rocpd_event{SUFFIX}")
        database.execute(f"create view rocpd_event{SUFFIX} as select 1 as id")
    with pytest.raises(UnreadableFile, match="is a view, not a table"):
        tell(path)


def test_a_compressed_file_is_the_same_trace_and_other_formats_are_not_recognised(
    tell: Callable[[Path], Told], tmp_path: Path
) -> None:
    path = write(tmp_path / "plain.db", suffixed(version_3()))
    assert tell(packed(path)).tables == tell(path).tables
    assert not rpd.recognises(open_file(path))
    assert not nsys.recognises(open_file(path))
    older = {"rocpd_metadata": [{"tag": "x"}], "rocpd_api": [{"id": 1}], "rocpd_op": [{"id": 1}]}
    assert not rocpd.recognises(open_file(write(tmp_path / "old.rpd", {**older, "rocpd_string": STRINGS})))


@pytest.mark.exhaustive
def test_damage_gives_a_clear_error_or_is_read_as_it_stands(tell: Callable[[Path], Told], tmp_path: Path) -> None:
    bad, outcomes = tmp_path / "bad.db", set[str]()
    for content in damaged(write(tmp_path / "good.db", suffixed(version_3())), 25):
        bad.write_bytes(content)
        try:
            outcomes.add("read" if rocpd.recognises(open_file(bad)) and tell(bad) else "not recognised")
        except UnreadableFile:
            outcomes.add("refused")
    assert {"read", "refused"} <= outcomes


@pytest.mark.exhaustive
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_of_any_type_in_any_column_breaks_the_reader(
    tell: Callable[[Tables], Told], data: st.DataObject
) -> None:
    act = {**PLACE, "agent_id": 8, "type": "ALLOC", "level": "REAL", "start": 1, "end": 2, "address": 1, "size": 1}
    every = version_3(
        rocpd_memory_allocate=[act, {**act, "type": "FREE", "start": 3}],
        rocpd_track=[{"id": 1, **PLACE, **DISPATCHED, "name_id": 10}],
        rocpd_sample=[{"id": 1, "track_id": 1, "timestamp": 40, "event_id": 3}],
        rocpd_info_pmc=[{"id": 1, "agent_id": 8, "name": "n", "symbol": "s", "units": "u"}],
        rocpd_pmc_event=[{"event_id": 2, "pmc_id": 1, "value": 0.5}],
    )
    assert tell(with_odd_values(every, data)).facts.format == "rocpd"
