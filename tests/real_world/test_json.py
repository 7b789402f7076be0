"""Traces that are not JSON, or not the JSON one expects: everything that can be read is read, and right."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.collect.kineto_traces import duration, read_bytes, read_events, rows_of
from tests.real_world.traces import kernel, kernels, launch, launched, notes
from tracelode.collect.ingest import read
from tracelode.store import Archive, Error

FRAME = '{"ph": "X", "cat": "python_function", "name": "%s", "pid": 10, "tid": 11, "ts": 5, "dur": 50, "args": {}}'


@pytest.mark.parametrize(
    ("written", "name", "note"),
    [
        ("triton_\x01config\x1f", "triton_\x01config\x1f", "control-character"),
        ("<built-in>\n(torch/_dynamo)", "<built-in>\n(torch/_dynamo)", "control-character"),
        ('f(x="a"): "b"\n', 'f(x="a"): "b"\n', "mended"),
        (r"C:\Users\new\train.py(3): f", r"C:\Users\new\train.py(3): f", "mended"),
        (r"D:\unit\x.py", r"D:\unit\x.py", "mended"),
    ],
)
def test_a_name_that_breaks_json_is_read_as_meant_and_costs_no_event(
    tmp_path: Path, written: str, name: str, note: str
) -> None:
    """pytorch#136180, #130622, #113001, #98432, #60187, kineto#336: control characters, quotes, Windows paths."""
    trace = read_events(tmp_path, *launched("a", 100, 5, 1), FRAME % written, *launched("b", 200, 7, 2))
    assert [row["name"] for row in rows_of(trace, "range")] == [name]
    assert kernels(trace) == [("a", 5000), ("b", 7000)]
    assert notes(trace) == {note: 1}


def test_an_arrow_with_a_quote_missing_costs_no_event(tmp_path: Path) -> None:
    """pytorch#33961: the old autograd exporter forgot a quote in flow events."""
    arrow = '{"name": "memcpy, "ph": "s", "ts": 90, "tid": 11, "pid": 10, "id": 1, "cat": "cpu_to_cuda", "args": {}}'
    trace = read_events(tmp_path, arrow, *launched("a", 100, 5, 1))
    assert kernels(trace) == [("a", 5000)]
    assert [(row["id"], row["phase"]) for row in rows_of(trace, "flow")] == [(1, "s")]
    assert notes(trace) == {"mended": 1}


def test_a_bandwidth_that_is_infinite_does_not_spoil_its_copy(tmp_path: Path) -> None:
    """kineto#105: a bare inf where the duration is 0."""
    copy = (
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 100,'
        '"dur": 0, "args": {"device": 0, "stream": 7, "correlation": 1, "bytes": 64, "memory bandwidth (GB/s)": inf}}'
    )
    trace = read_events(tmp_path, launch(90, 1, "cudaMemcpyAsync"), copy)
    (row,) = rows_of(trace, "copy")
    assert (row["kind"], row["bytes"], row["start_ns"], row["end_ns"]) == ("HtoD", 64, 100000, 100000)
    assert row["args"] == {"memory bandwidth (GB/s)": "Infinity"}
    assert notes(trace) == {"non-finite": 1}


@pytest.mark.parametrize("length", ["NaN", "Infinity", "null"])
def test_a_kernel_whose_duration_is_no_number_is_still_a_kernel(tmp_path: Path, length: str) -> None:
    """kineto#105: what is no number costs the number, not the event."""
    whole = json.dumps(kernel("k", 100, 0, 1)).replace('"dur": 0', f'"dur": {length}')
    trace = read_events(tmp_path, launch(90, 1), whole, *launched("b", 200, 7, 2))
    assert kernels(trace) == [("k", None), ("b", 7000)]
    assert [row.get("flaw") for row in rows_of(trace, "kernel")] == ["no end", None]
    assert notes(trace)["no-end"] == 1


def test_a_list_of_the_exporter_without_kineto_has_its_lanes_for_categories(tmp_path: Path) -> None:
    """pytorch#95460: a bare list, with "CPU functions" and "CUDA functions" for process ids."""
    events = [
        {"name": "aten::mm", "ph": "X", "ts": 10, "dur": 30, "tid": 1, "pid": "CPU functions", "args": {}},
        {"name": "gemm", "ph": "X", "ts": 20, "dur": 12, "tid": 0, "pid": "CUDA functions", "args": {}},
    ]
    trace = read_bytes(tmp_path, json.dumps(events).encode())
    assert [row["name"] for row in rows_of(trace, "op")] == ["aten::mm"]
    assert kernels(trace) == [("gemm", 12000)]


def test_ranks_that_wrote_into_one_file_lose_at_most_the_torn_event(tmp_path: Path) -> None:
    """TensorRT-LLM#13536, #9022, #3708: all ranks write one path; what one flushes lands amid another's."""
    first = json.dumps(
        {"schemaVersion": 1, "traceEvents": [e for c in range(1, 9) for e in launched("a", 100 * c, 5, c)]}
    )
    second = json.dumps(
        {"schemaVersion": 1, "traceEvents": [e for c in range(1, 9) for e in launched("b", 100 * c + 50, 7, c)]}
    ).replace('"pid": 10', '"pid": 20')
    at = first.index('"ts": 500') + 4  # within a kernel
    trace = read_bytes(tmp_path, f"{first[:at]}{second}{first[at:]}".encode())
    found = kernels(trace)
    assert found.count(("b", 7000)) >= 7
    assert found.count(("a", 5000)) >= 7
    assert len(found) <= 16
    assert notes(trace).keys() & {"damaged", "mended", "several-traces"}


@pytest.mark.parametrize("lost", [1, 8, 100])
def test_a_gzip_file_without_its_end_gives_what_is_there_as_a_floor(tmp_path: Path, lost: int) -> None:
    """ROCm/MAD#224, bazel#11863, trace-viewer#145: killed ranks leave a member without trailer."""
    events = [event for c in range(1, 400) for event in launched(f"k{c * 7919 % 1009}", 100 * c, 5, c)]
    whole = gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())
    path = tmp_path / "rank3.json.gz"
    path.write_bytes(whole[:-lost])
    trace, _ = read(path, Archive(tmp_path / "archive"))
    count = trace.rows["kernel"]
    assert 350 <= count <= 399
    assert trace.sql("select sum(duration_ns) from kernel").item() == 5000 * count
    assert notes(trace)["truncated"] == 1


def test_a_file_that_ends_within_an_event_gives_the_events_before(tmp_path: Path) -> None:
    """bazel#11863: the recorder was killed while it wrote."""
    text = json.dumps({"schemaVersion": 1, "traceEvents": [*launched("a", 100, 5, 1), *launched("b", 200, 7, 2)]})
    trace = read_bytes(tmp_path, text[: text.index('"b"') + 20].encode())
    assert kernels(trace) == [("a", 5000)]
    assert notes(trace) == {"truncated": 1}


def test_a_trace_of_metadata_alone_is_a_trace_without_events(tmp_path: Path) -> None:
    """HTA#111, #337: a rank that recorded nothing makes readers crash."""
    metadata = {"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": 0, "args": {"name": "python"}}
    trace = read_events(tmp_path, metadata, distributedInfo={"rank": 5, "world_size": 8})
    assert not trace.has("kernel")
    assert notes(trace) == {"no-events": 1}


def test_metadata_after_the_events_counts(tmp_path: Path) -> None:
    """HTA#226: `distributedInfo` behind `traceEvents` was lost."""
    events = json.dumps([*launched("a", 100, 5, 1)])
    behind = '"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "distributedInfo": {"rank": 3, "world_size": 8}'
    trace = read_bytes(tmp_path, f'{{"schemaVersion": 1, "traceEvents": {events}, {behind}}}'.encode())
    (process,) = rows_of(trace, "process")
    assert (process["rank"], process["world_size"]) == (3, 8)
    assert [row["name"] for row in rows_of(trace, "device")] == ["NVIDIA H100"]
    assert notes(trace) == {}


def test_events_in_any_order_give_the_same_trace(tmp_path: Path) -> None:
    """Events come unsorted, and kernels before their calls, in most exports."""
    events: list[Any] = [*launched("a", 100, 5, 1), *launched("b", 200, 7, 2), *launched("c", 300, 9, 3)]
    events.append(duration("cpu_op", "aten::mm", 10, 11, 80, 40))
    there, back = read_events(tmp_path / "there", *events), read_events(tmp_path / "back", *reversed(events))
    for table in ("kernel", "api", "op"):
        assert rows_of(there, table) == rows_of(back, table)
    assert [row.get("op") for row in rows_of(there, "kernel")] == [0, None, None]


def test_a_key_given_twice_keeps_both_values(tmp_path: Path) -> None:
    """Exporters and mergers append members that are there already."""
    twice = json.dumps(kernel("k", 100, 5, 1)).replace('"args": {', '"args": {"blocks per SM": 1, "blocks per SM": 2, ')
    trace = read_events(tmp_path, launch(90, 1), twice)
    (row,) = rows_of(trace, "kernel")
    assert row["args"] == {"blocks per SM": 2, "blocks per SM (2)": 1}
    assert notes(trace) == {"duplicate-key": 1}


def test_a_timeline_of_exactly_as_many_events_as_exporters_write_may_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """xla#44702: the JSON export of XLA ends at a million events without a word (here: at three)."""
    monkeypatch.setattr("tracelode.collect.readers.kineto.EVENT_CAP", 3)
    spans = [{"ph": "X", "name": f"fusion.{n}", "pid": 1, "tid": 2, "ts": 10 * n, "dur": 5} for n in range(4)]
    for count, wanted in ((2, {}), (3, {"event-cap": 1}), (4, {})):
        trace = read_bytes(tmp_path, json.dumps({"traceEvents": spans[:count]}).encode())
        assert notes(trace) == wanted


def test_what_is_no_trace_is_refused_in_words(tmp_path: Path) -> None:
    """TraceLens#279, #297: an assertion that fails tells nobody what is wrong with the file."""
    path = tmp_path / "trace.json"
    path.write_text('{"schemaVersion": 1, "traceEvents": [')
    with pytest.raises(Error, match="before the first event") as refused:
        read(path, Archive(tmp_path / "archive"))
    assert refused.value.hint
