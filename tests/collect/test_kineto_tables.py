import json
from pathlib import Path
from typing import Any

from tests.collect.kineto_traces import HOST, duration, read_bytes, read_events, rows_of


def test_a_kernel_has_its_launch_dimensions_and_the_process_of_its_call(tmp_path: Path) -> None:
    kernel = duration(
        "kernel",
        "gemm",
        0,
        7,
        111.001,
        2.5,
        **{"External id": 3, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 7},
        **{"registers per thread": 32, "shared memory": 1024, "grid": [4, 2, 1], "block": [128, 1, 1]},
        **{"graph id": 5, "graph node id": 6, "blocks per SM": 0.25},
    )
    trace = read_events(tmp_path, kernel, HOST)
    assert rows_of(trace, "kernel") == [
        {
            "process": 10,
            "device": 0,
            "context": 1,
            "stream": 7,
            "start_ns": 111_001,
            "end_ns": 113_501,
            "name": "gemm",
            "grid_x": 4,
            "grid_y": 2,
            "grid_z": 1,
            "block_x": 128,
            "block_y": 1,
            "block_z": 1,
            "registers": 32,
            "shared_bytes": 1024,
            "correlation": 7,
            "graph": 5,
            "graph_node": 6,
            "launch": 0,
            "launch_ns": 105_000,
            "launch_thread": 11,
            "external": 3,
            "args": {"queued": 0, "blocks per SM": 0.25},
        }
    ]
    assert rows_of(trace, "api") == [
        {
            "process": 10,
            "thread": 11,
            "start_ns": 105_000,
            "end_ns": 108_000,
            "name": "cudaLaunchKernel",
            "kind": "runtime",
            "correlation": 7,
            "args": {"cbid": 211},
        }
    ]


def test_the_categories_of_2020_mean_the_same(tmp_path: Path) -> None:
    """A bare list, capitals, threads as text, `external id`, whole microseconds."""
    place = {"device": 0, "context": 1, "stream": 7}
    events = [
        duration("Operator", "aten::mul", 9, "11", 1606910596297023, 13, **{"Input dims": [[2], []], "External id": 2}),
        duration("Runtime", "cudaMemcpyAsync", 9, "11", 1606910596297030, 5, cbid=41, correlation=1),
        duration("Kernel", "k", 0, "stream 7", 1606910596297040, 0, **place, correlation=3, **{"external id": 0}),
        duration(
            "Memcpy", "Memcpy HtoD (Pinned -> Device)", 0, "stream 7", 1606910596297041, 2, **place, correlation=1
        ),
        duration("Memset", "Memset (Device)", 0, "stream 7", 1606910596297050, 1, **place, correlation=4, bytes=64),
        {"ph": "s", "id": 1, "pid": 9, "tid": 11, "ts": 1606910596297030, "cat": "async", "name": "launch"},
        {
            "ph": "f",
            "id": 1,
            "pid": 0,
            "tid": "stream 7",
            "ts": 1606910596297041,
            "cat": "async",
            "name": "launch",
            "bp": "e",
        },
    ]
    trace = read_bytes(tmp_path, json.dumps(events).encode())
    start = 1606910596297023000
    assert rows_of(trace, "op") == [
        {
            "id": 0,
            "process": 9,
            "thread": 11,
            "start_ns": start,
            "end_ns": start + 13_000,
            "name": "aten::mul",
            "depth": 0,
            "external": 2,
            "shapes": [[2], []],
        }
    ]
    (kernel,), (copy,), (fill,) = (rows_of(trace, table) for table in ("kernel", "copy", "fill"))
    assert (kernel["process"], kernel["end_ns"] - kernel["start_ns"], kernel["external"]) == (9, 0, 0)
    assert (copy["kind"], copy["source_memory"], copy["target_memory"]) == ("HtoD", "pinned", "device")
    assert (copy["launch"], "args" in copy, fill["bytes"], fill["memory"]) == (0, False, 64, "device")
    assert rows_of(trace, "flow") == [
        {
            "process": 9,
            "track": 11,
            "time_ns": start + 7_000,
            "kind": "async",
            "id": 1,
            "phase": "s",
            "args": {"name": "launch"},
        },
        {
            "process": 9,
            "track": 7,
            "time_ns": start + 18_000,
            "kind": "async",
            "id": 1,
            "phase": "f",
            "args": {"bp": "e", "name": "launch", "pid": 0},
        },
    ]
    assert (trace.facts.format, trace.facts.base_unix_ns, trace.facts.clock) == ("kineto", 0, "unix")


def test_an_operator_has_shapes_types_and_the_forward_it_belongs_to(tmp_path: Path) -> None:
    args = {
        "External id": 4,
        "Sequence number": 21,
        "Fwd thread id": 1,
        "Input Dims": [[2, 3], []],
        "Input type": ["float", ""],
    }
    backward = duration("cpu_op", "MulBackward0", 10, 12, 7, 1, **args, **{"Concrete Inputs": ["", "1"], "Ev Idx": 9})
    forward = duration("cpu_op", "aten::mul", 10, 11, 1, 2, **{"Sequence number": 21, "Fwd thread id": 0})
    assert rows_of(read_events(tmp_path, backward, forward), "op") == [
        {
            "id": 0,
            "process": 10,
            "thread": 11,
            "start_ns": 1000,
            "end_ns": 3000,
            "name": "aten::mul",
            "depth": 0,
            "sequence": 21,
        },
        {
            "id": 1,
            "process": 10,
            "thread": 12,
            "start_ns": 7000,
            "end_ns": 8000,
            "name": "MulBackward0",
            "depth": 0,
            "external": 4,
            "sequence": 21,
            "forward_thread": 1,
            "shapes": [[2, 3], []],
            "types": ["float", ""],
            "event_index": 9,
            "args": {"Concrete Inputs": ["", "1"]},
        },
    ]


def test_copies_of_every_generation_have_a_direction(tmp_path: Path) -> None:
    between = {"fromDevice": 0, "inDevice": 1, "toDevice": 1, "stream": 7, "correlation": 1, "bytes": 8}
    place = {"device": 0, "stream": 7}
    trace = read_events(
        tmp_path,
        duration("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 1, 7, 1, 1, **between),
        duration("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, 2, 1, **place, bytes=4),
        duration("gpu_memcpy", "CopyDeviceToHost", 0, 7, 3, 1, **place),
        duration("gpu_memcpy", "Memcpy", 0, 7, 4, 1, **place, kind="HtoD"),
        duration("gpu_memcpy", "Memcpy of a new sort", 0, 7, 5, 1, **place),
        duration("gpu_memset", "Memset (Unknown)", 0, 7, 6, 1, **place, bytes=4),
    )
    copies = sorted(rows_of(trace, "copy"), key=lambda row: row["start_ns"])
    assert [copy.get("kind") for copy in copies] == ["PtoP", "DtoH", "DtoH", "HtoD", None]
    assert (copies[0]["device"], copies[0]["peer_device"]) == (1, 0)
    assert [copy.get("args", {}).get("name") for copy in copies] == [
        None,
        None,
        "CopyDeviceToHost",
        "Memcpy",
        "Memcpy of a new sort",
    ]
    assert [(n.count, n.example) for n in trace.notes if n.kind == "unknown-direction"] == [(1, "Memcpy of a new sort")]
    assert rows_of(trace, "fill")[0]["memory"] == "unknown"


def test_waits_say_what_waits_for_what(tmp_path: Path) -> None:
    place = {"device": 0, "context": 1, "correlation": 5}
    waiting = {"wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 2}
    trace = read_events(
        tmp_path,
        HOST,
        duration("cuda_sync", "Stream Sync", 0, 7, 1, 2, cuda_sync_kind="Stream Sync", stream=7, **place),
        duration("cuda_sync", "Context Sync", 0, -1, 2, 2, cuda_sync_kind="Context Sync", stream=4294967295, **place),
        duration(
            "cuda_sync",
            "Stream Wait Event",
            0,
            7,
            3,
            0,
            cuda_sync_kind="Stream Wait Event",
            stream=7,
            **place,
            **waiting,
        ),
        duration("cuda_sync", "Event Sync", 0, -1, 4, 2, cuda_sync_kind="Event Sync", stream=-1, **place),
        duration("cuda_sync", "Host Sync", 0, 7, 5, 1, cuda_sync_kind="New Sync", stream=7, **place),
    )
    common = {"process": 10, "device": 0, "context": 1, "correlation": 5}
    assert rows_of(trace, "sync") == [
        {**common, "stream": 7, "start_ns": 1000, "end_ns": 3000, "kind": "stream"},
        {**common, "start_ns": 2000, "end_ns": 4000, "kind": "context", "args": {"tid": -1}},
        {
            **common,
            "stream": 7,
            "start_ns": 3000,
            "end_ns": 3000,
            "kind": "stream-event",
            "event": 2,
            "args": {"wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4},
        },
        {**common, "start_ns": 4000, "end_ns": 6000, "kind": "event"},
        {**common, "stream": 7, "start_ns": 5000, "end_ns": 6000, "kind": "New Sync", "args": {"name": "Host Sync"}},
    ]


def test_spans_of_every_sort_become_ranges(tmp_path: Path) -> None:
    trace = read_events(
        tmp_path,
        HOST,
        duration(
            "python_function",
            "nn/module.py(1): forward",
            10,
            11,
            1,
            9,
            **{"Python id": 5, "Python parent id": 4, "Ev Idx": 3},
        ),
        duration("python_function", "root", 10, 11, 0, 9, **{"Python id": 4, "Python parent id": None}),
        duration("user_annotation", "ProfilerStep#3", 10, 11, 2, 8),
        duration("gpu_user_annotation", "ProfilerStep#3", 0, 7, 3, 7, **{"External id": 8}),
        duration("overhead", "Activity Buffer Request", -1, 0, 4, 6),
        duration("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 5, 5, **{"Op count": 0}),
        duration("cuda_profiler_range", "k", 0, 0, 6, 4, inst=3),
        {"ph": "i", "s": "g", "name": "Iteration Start", "pid": "Traces", "tid": "11", "ts": 7},
    )
    python, common = {"process": 10, "thread": 11, "kind": "python"}, {"process": 10}
    lane = next(r["track"] for r in rows_of(trace, "track") if r["name"] == "PyTorch Profiler")
    assert sorted(rows_of(trace, "range"), key=lambda row: row["start_ns"]) == [
        {**python, "start_ns": 0, "end_ns": 9000, "name": "root", "id": 4, "args": {"Python parent id": None}},
        {
            **python,
            "start_ns": 1000,
            "end_ns": 10000,
            "name": "nn/module.py(1): forward",
            "id": 5,
            "parent_id": 4,
            "event_index": 3,
        },
        {**common, "thread": 11, "start_ns": 2000, "end_ns": 10000, "name": "ProfilerStep#3", "kind": "annotation"},
        {
            **common,
            "device": 0,
            "stream": 7,
            "start_ns": 3000,
            "end_ns": 10000,
            "name": "ProfilerStep#3",
            "kind": "device_annotation",
            "args": {"External id": 8},
        },
        {
            **common,
            "thread": 0,
            "start_ns": 4000,
            "end_ns": 10000,
            "name": "Activity Buffer Request",
            "kind": "overhead",
            "args": {"pid": -1},
        },
        {
            **common,
            "thread": lane,
            "start_ns": 5000,
            "end_ns": 10000,
            "name": "PyTorch Profiler (0)",
            "kind": "profiler",
            "args": {"Op count": 0, "pid": "Spans"},
        },
        {
            **common,
            "thread": 0,
            "start_ns": 6000,
            "end_ns": 10000,
            "name": "k",
            "kind": "profiler_range",
            "args": {"inst": 3, "pid": 0},
        },
        {
            **common,
            "thread": 11,
            "start_ns": 7000,
            "end_ns": 7000,
            "name": "Iteration Start",
            "kind": "mark",
            "args": {"s": "g", "pid": "Traces"},
        },
    ]


def test_lanes_named_by_text_keep_one_id_and_their_name(tmp_path: Path) -> None:
    span = duration("Trace", "a", "Spans", "PyTorch Profiler", 1, 1)
    first, again = (read_events(tmp_path, HOST, span, {**span, "ts": n}) for n in (2, 3))
    lanes = [row["thread"] for trace in (first, again) for row in rows_of(trace, "range")]
    assert len(set(lanes)) == 1
    assert lanes[0] < -1
    assert [row for row in rows_of(first, "track") if row.get("track") == lanes[0]] == [
        {"process": 10, "track": lanes[0], "name": "PyTorch Profiler", "kind": "lane", "args": {"pid": "Spans"}}
    ]


def test_metadata_names_processes_threads_and_streams(tmp_path: Path) -> None:
    def meta(kind: str, pid: int, tid: int, **args: Any) -> dict[str, Any]:
        return {"name": kind, "ph": "M", "ts": 1, "pid": pid, "tid": tid, "args": args}

    trace = read_events(
        tmp_path,
        HOST,
        meta("process_name", 10, 0, name="python"),
        meta("process_labels", 0, 0, labels="GPU 0"),
        meta("thread_name", 10, 11, name="thread 11 (main)"),
        meta("thread_name", 0, 7, name="stream 7"),
        meta("thread_sort_index", 0, 7, sort_index=70),
    )
    assert rows_of(trace, "track") == [
        {"process": 10, "name": "python", "kind": "process"},
        {"process": 10, "track": 11, "name": "thread 11 (main)", "kind": "thread"},
        {"process": 10, "name": "GPU 0", "kind": "process_labels", "args": {"pid": 0}},
        {"process": 10, "track": 7, "name": "stream 7", "kind": "stream", "args": {"pid": 0}},
        {
            "process": 10,
            "track": 7,
            "name": "thread_sort_index",
            "kind": "thread_sort_index",
            "args": {"sort_index": 70, "pid": 0},
        },
    ]
    assert rows_of(trace, "process") == [{"process": 10, "pid": 10, "name": "python"}]


def test_work_of_mtia_is_activity_of_a_device_and_its_calls_are_calls(tmp_path: Path) -> None:
    trace = read_events(
        tmp_path,
        HOST,
        duration("mtia_ccp_events", "event_wait", 17, 3774, 1, 2, stream=108, seq_num=5),
        duration("mtia_runtime", "recordEvent", 10, 11, 1, 2, correlation=9, device=17, stream_id="108"),
        duration("mtia_runtime", "synchronize", 17, 3568, 4, 2, correlation=10, device=17),
    )
    (activity,) = rows_of(trace, "range")
    assert activity == {
        "process": 10,
        "thread": 3774,
        "device": 17,
        "stream": 108,
        "start_ns": 1000,
        "end_ns": 3000,
        "name": "event_wait",
        "kind": "device_activity",
        "domain": "mtia_ccp_events",
        "args": {"seq_num": 5},
    }
    calls = [(row["name"], row["process"], row["args"]) for row in rows_of(trace, "api")]
    assert calls == [
        ("recordEvent", 10, {"stream_id": "108", "device": 17}),
        ("cudaLaunchKernel", 10, {"cbid": 211}),
        ("synchronize", 10, {"device": 17}),
    ]
    assert [row["process"] for row in rows_of(trace, "process")] == [10]


def test_arguments_of_rocm_given_as_text_are_kept_and_read(tmp_path: Path) -> None:
    call = duration(
        "cuda_runtime", "hipMemcpyWithStream", 10, 11, 1, 2, correlation=1, stream="0x0", size="2560", kind="2"
    )
    copy = duration(
        "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 2, 0, 2, 2, device=2, stream="0x1f", correlation=1, bytes="2560"
    )
    trace = read_events(tmp_path, call, copy)
    assert rows_of(trace, "api")[0]["args"] == {"stream": "0x0", "size": "2560", "kind": "2"}
    (row,) = rows_of(trace, "copy")
    assert (row["stream"], row["bytes"], row["args"]) == (31, 2560, {"stream": "0x1f", "bytes": "2560", "tid": 0})
