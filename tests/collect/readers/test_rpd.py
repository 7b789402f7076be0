import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect.reading import Tables, Told, damaged, packed, read, with_odd_values, write
from tracelode.collect.files import open_file
from tracelode.collect.readers import nsys, rpd
from tracelode.store.errors import UnreadableFile

TEXTS = {
    1: "",
    2: "hipLaunchKernel",
    3: "hipMemcpyAsync",
    4: "KernelExecution",
    5: "CopyHostToDevice",
    6: "gemm(float*)",
    7: "UserMarker",
    8: "step 1",
    9: "aten::mm",
    10: "FillBuffer",
    11: "Task",
    12: "hipExtModuleLaunchKernel",
    13: "OpTable::writeRows",
    14: "hipMalloc",
    15: "ptr=0x7f | size=0x10",
    16: "CopyDeviceToDevice2D",
}
STRINGS = [{"id": key, "string": value} for key, value in TEXTS.items()]
OP = {"gpuId": 2, "queueId": 1, "sequenceId": 0, "completionSignal": ""}


def call(id: int, start: int, end: int, name: int, args: int = 1, pid: int = 70) -> dict[str, Any]:
    return {"id": id, "pid": pid, "tid": pid + 1, "start": start, "end": end, "apiName_id": name, "args_id": args}


def operation(id: int, start: int, end: int, kind: int, description: int = 1) -> dict[str, Any]:
    return {"id": id, **OP, "start": start, "end": end, "opType_id": kind, "description_id": description}


def launch(api: int, grid: int, block: int) -> dict[str, Any]:
    sizes = {"gridX": grid, "gridY": 2, "gridZ": 1, "workgroupX": block, "workgroupY": 1, "workgroupZ": 1}
    more = {"groupSegmentSize": 1024, "privateSegmentSize": 8, "kernelArgAddress": "", "kernelName_id": 6}
    return {"api_ptr_id": api, "stream": "0x55", **sizes, **more}


def minimal(**tables: list[dict[str, Any]]) -> Tables:
    move = {"api_ptr_id": 12, "stream": "0x0", "size": 4096, "width": "", "kind": 1, "dst": "0x7f", "src": "0x8f"}
    return {
        "rocpd_string": STRINGS,
        "rocpd_metadata": [{"id": 1, "tag": "schema_version", "value": "2"}],
        "rocpd_api": [call(11, 100, 110, 2), call(12, 120, 130, 3)],
        "rocpd_op": [operation(1, 150, 190, 4, 6), operation(2, 200, 230, 5)],
        "rocpd_api_ops": [{"id": 1, "api_id": 11, "op_id": 1}, {"id": 2, "api_id": 12, "op_id": 2}],
        "rocpd_kernelapi": [launch(11, 64, 256)],
        "rocpd_copyapi": [{**move, "dstDevice": 0, "srcDevice": 0, "sync": 0, "pinned": 1}],
        **tables,
    }


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Path | Tables], Told]:
    def tell(source: Path | Tables) -> Told:
        path = source if isinstance(source, Path) else write(tmp_path / "trace.rpd", source)
        return read(rpd, path, tmp_path)

    return tell


def test_device_work_is_read_and_linked_to_its_calls(tell: Callable[[Tables], Told]) -> None:
    told = tell(minimal())
    place = {"process": 70, "device": 2, "stream": 1, "launch_thread": 71}
    assert told["kernel"] == [
        {
            **place,
            "start_ns": 150,
            "end_ns": 190,
            "name": "gemm(float*)",
            "grid_x": 64,
            "grid_y": 2,
            "grid_z": 1,
            "block_x": 256,
            "block_y": 1,
            "block_z": 1,
            "shared_bytes": 1024,
            "correlation": 11,
            "launch": 0,
            "launch_ns": 100,
            "args": '{"privateSegmentSize": 8, "stream": "0x55"}',
        }
    ]
    assert told["copy"] == [
        {
            **place,
            "start_ns": 200,
            "end_ns": 230,
            "kind": "HtoD",
            "bytes": 4096,
            "correlation": 12,
            "launch": 1,
            "launch_ns": 120,
            "args": '{"dst": "0x7f", "src": "0x8f", "pinned": 1}',
        }
    ]
    assert [(r["name"], r["kind"], r["correlation"]) for r in told["api"]] == [
        ("hipLaunchKernel", "runtime", 11),
        ("hipMemcpyAsync", "runtime", 12),
    ]
    assert told["device"] == [{"process": 70, "device": 2, "vendor": "amd"}]
    assert told.notes == {}
    assert (told.facts.producer, told.facts.labels) == ("rocmProfileData (schema 2)", {"schema_version": "2"})


def test_module_launches_give_work_items_and_a_kernel_without_text_is_named_by_its_launch(
    tell: Callable[[Tables], Told],
) -> None:
    tables = minimal(rocpd_api=[call(11, 100, 110, 12)], rocpd_op=[operation(1, 150, 190, 4)])
    tables["rocpd_kernelapi"] = [launch(11, 1000, 256)]
    (kernel,) = tell(tables)["kernel"]
    assert (kernel["grid_x"], kernel["grid_y"], kernel["block_x"], kernel["name"]) == (4, 2, 256, "gemm(float*)")


def test_every_other_operation_is_kept_and_the_size_of_a_shared_copy_call_is_not_guessed(
    tell: Callable[[Tables], Told],
) -> None:
    operations = [operation(1, 1, 2, 16), operation(2, 3, 4, 16), operation(3, 5, 6, 10), operation(4, 7, 9, 11, 6)]
    links = [{"id": at, "api_id": 12, "op_id": at} for at in (1, 2, 3)]
    told = tell(minimal(rocpd_op=operations, rocpd_api_ops=links))
    assert [(r["kind"], r.get("bytes"), json.loads(r["args"])) for r in told["copy"]] == [
        ("DtoD", None, {"call_bytes": 4096, "dst": "0x7f", "src": "0x8f", "pinned": 1, "type": "CopyDeviceToDevice2D"})
    ] * 2
    assert [(r["start_ns"], r["end_ns"], r["correlation"]) for r in told["fill"]] == [(5, 6, 12)]
    assert told["range"] == [
        {
            "process": 70,
            "device": 2,
            "stream": 1,
            "start_ns": 7,
            "end_ns": 9,
            "name": "gemm(float*)",
            "kind": "device_work",
            "domain": "Task",
        }
    ]
    assert told.counts() == {"before-launch": 3, "unclassified-work": 1}


def test_markers_are_operators_where_autograd_knows_them_and_annotations_otherwise(
    tell: Callable[[Tables], Told],
) -> None:
    told = tell(
        minimal(
            rocpd_api=[call(11, 100, 110, 2), call(12, 90, 300, 7, 8), call(13, 95, 120, 7, 9), call(14, 1, 2, 13)],
            ext_autogradapi=[
                {"api_ptr_id": 13, "autogradName_id": 9, "seq": "5", "op_id": 3, "sizes": "[[2]]", "input_op_ids": ""}
            ],
            ext_callstack=[{"id": 1, "parent_id": 12}] * 10_001,
            rocpd_barrierop=[{"op_ptr_id": 1, "signalCount": 2}],
        )
    )
    span = {"process": 70, "thread": 71}
    assert told["op"] == [
        {"id": 0, **span, "start_ns": 95, "end_ns": 120, "name": "aten::mm", "depth": 0, "external": 3}
        | {"sequence": 5, "args": '{"sizes": "[[2]]"}'}
    ]
    assert told["range"] == [
        {**span, "start_ns": 90, "end_ns": 300, "name": "step 1", "kind": "annotation", "domain": "UserMarker"}
    ]
    assert [(r["name"], r["kind"]) for r in told["api"]] == [
        ("OpTable::writeRows", "profiler"),
        ("UserMarker", "marker"),
        ("UserMarker", "marker"),
        ("hipLaunchKernel", "runtime"),
    ]
    assert told["other"] == [{"kind": "rocpd_barrierop", "json": '{"op_ptr_id": 1, "signalCount": 2}'}]
    assert told.notes["unread-table"].example == "ext_callstack 10,001"


def test_monitors_become_counters_and_values_that_are_no_numbers_stay_as_they_are(
    tell: Callable[[Tables], Told],
) -> None:
    sample = {"deviceType": "gpu", "deviceId": 3, "monitorType": "sclk", "start": 5, "end": 9, "value": "1700"}
    odd = {**sample, "value": "fast"}
    host = {**sample, "deviceType": "cpu", "value": "1.5", "start": 6}
    nothing = {**sample, "deviceType": None, "deviceId": None, "monitorType": None, "start": 7}
    told = tell(minimal(rocpd_monitor=[sample, odd, host, nothing]))
    assert told["counter"] == [
        {"process": 70, "name": "? ? ?", "time_ns": 7, "value": 1700.0},
        {"process": 70, "name": "cpu 3 sclk", "time_ns": 6, "value": 1.5},
        {"process": 70, "device": 3, "name": "sclk", "time_ns": 5, "value": 1700.0},
    ]
    assert json.loads(told["other"][0]["json"]) == odd
    assert told.counts() == {"no-value": 1}


def test_work_of_no_call_is_kept_and_counted(tell: Callable[[Tables], Told]) -> None:
    calls = [call(11, 100, 110, 2), call(12, 120, 130, 14, 15, pid=80)]
    told = tell(minimal(rocpd_api=calls, rocpd_api_ops=[]))
    assert [r["process"] for r in told["kernel"] + told["copy"]] == [0, 0]
    assert told["api"][1]["args"] == '{"args": "ptr=0x7f | size=0x10"}'
    assert told.counts() == {"no-process": 2, "no-launch": 2}


def test_a_compressed_database_is_the_same_trace(tell: Callable[[Path | Tables], Told], tmp_path: Path) -> None:
    path = write(tmp_path / "plain.rpd", minimal())
    assert tell(packed(path)).tables == tell(path).tables


def test_other_databases_are_not_recognised(tmp_path: Path) -> None:
    for tables in (
        {"rocpd_string_5f": STRINGS, "rocpd_metadata_5f": [{"tag": "x"}], "rocpd_info_agent_5f": [{"id": 1}]},
        {"rocpd_string": STRINGS, "rocpd_op": [{"start": 1}]},
        {"StringIds": STRINGS},
    ):
        assert not rpd.recognises(open_file(write(tmp_path / "x.db", tables)))
    assert not nsys.recognises(open_file(write(tmp_path / "x.db", minimal())))


@pytest.mark.exhaustive
def test_damage_gives_a_clear_error_or_is_read_as_it_stands(tell: Callable[[Path], Told], tmp_path: Path) -> None:
    bad, outcomes = tmp_path / "bad.rpd", set[str]()
    many = [operation(at, at * 10, at * 10 + 5, 4, 6) for at in range(200)]
    for content in damaged(write(tmp_path / "good.rpd", minimal(rocpd_op=many)), 40):
        bad.write_bytes(content)
        try:
            outcomes.add("read" if rpd.recognises(open_file(bad)) and tell(bad) else "not recognised")
        except UnreadableFile:
            outcomes.add("refused")
    assert {"read", "refused"} <= outcomes


@pytest.mark.exhaustive
@settings(max_examples=35, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_of_any_type_in_any_column_breaks_the_reader(
    tell: Callable[[Tables], Told], data: st.DataObject
) -> None:
    sample = {"deviceType": "gpu", "deviceId": 3, "monitorType": "sclk", "start": 5, "end": 9, "value": "1700"}
    operator = {"api_ptr_id": 12, "autogradName_id": 9, "seq": "5", "op_id": 3, "sizes": "[[2]]"}
    every = minimal(rocpd_monitor=[sample], ext_autogradapi=[operator], rocpd_barrierop=[{"op_ptr_id": 1}])
    assert tell(with_odd_values(every, data)).facts.format == "rpd"
