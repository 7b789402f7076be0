"""Schemas that change, and traces that lack what a tool expects: what is there is told, and what is not is named."""

from pathlib import Path

from tests.collect.kineto_traces import duration, read_bytes, read_events, rows_of
from tests.collect.reading import write
from tests.real_world.traces import kernels, launched, notes
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.topics import perf
from tracelode.store import Archive
from tracelode.store.health import health

KERNEL = {
    "start": 1000, "end": 3000, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 5,
    "globalPid": 0x0100_0000_0A00_0000, "demangledName": 1, "shortName": 1,
}  # fmt: skip
STRINGS = [{"id": 1, "value": "gemm"}, {"id": 2, "value": "step 1"}]
RANGE = {"start": 500, "end": 4000, "eventType": 59, "text": None, "textId": 2, "globalTid": 0x0100_0000_0A00_000A}


def test_tables_of_an_export_that_come_under_a_later_version_are_read(tmp_path: Path) -> None:
    """nsys-ai#235, #237, #291, #294, flameox#190: tables named with _V2 or _V3 read as "no ranges"."""
    tables = {
        "StringIds": STRINGS,
        "CUPTI_ACTIVITY_KIND_KERNEL_V3": [KERNEL],
        "NVTX_EVENTS_V2": [RANGE],
    }
    trace, _ = read(write(tmp_path / "report.sqlite", tables), Archive(tmp_path / "archive"))
    assert kernels(trace) == [("gemm", 2000)]
    assert [(row["name"], row["end_ns"] - row["start_ns"]) for row in rows_of(trace, "range")] == [("step 1", 3500)]


def test_an_export_without_a_table_says_that_it_was_not_collected(tmp_path: Path) -> None:
    """nsys-ai#235: tables appear only when there is something in them; what is not there is no zero."""
    path = write(tmp_path / "report.sqlite", {"StringIds": STRINGS, "CUPTI_ACTIVITY_KIND_KERNEL": [KERNEL]})
    trace, _ = read(path, Archive(tmp_path / "archive"))
    missing = {one.table: one.loses for one in health(trace).missing}
    assert missing["range"] == "annotations, to check iterations against"
    assert missing["copy"] == "memory copies"
    assert "kernel" not in missing


def test_a_report_of_a_trace_without_operators_or_steps_is_a_report(tmp_path: Path) -> None:
    """TraceLens#279, #297: assertion failures or empty reports on traces of NeMo and SGLang."""
    archive = Archive(tmp_path / "archive")
    made = read_events(tmp_path, *[e for c in range(1, 40) for e in launched("ab"[c % 2], 100 * c, 50, c)])
    trace, _ = read(made.source, archive)
    report = perf.build(trace, lambda name: find(trace, archive, name))
    assert report.verdict.startswith("The device is busy")
    assert any(remark.startswith("none recorded: op (") for remark in report.health)


def test_calls_that_repeat_give_a_sequence_without_naming_an_operator(tmp_path: Path) -> None:
    """HTA#233, #254, #81: the search for frequent sequences raised, and wanted the name of an operator first."""
    archive = Archive(tmp_path / "archive")
    made = read_events(tmp_path, *[e for c in range(1, 121) for e in launched(f"k{c % 4}", 100 * c, 50, c)])
    trace, _ = read(made.source, archive)
    assert find(trace, archive, "iteration_times").rows["operations"].unique().to_list() == [4]


def test_a_trace_of_an_unknown_tool_is_a_timeline(tmp_path: Path) -> None:
    """TraceLens#297: what is no PyTorch trace is no crash either."""
    event = duration("mystery", "work", 1, 2, 10, 5)
    trace = read_bytes(tmp_path, f'{{"traceEvents": [{event}]}}'.replace("'", '"').encode())
    assert [(row["name"], row["end_ns"] - row["start_ns"]) for row in rows_of(trace, "range")] == [("work", 5000)]
    assert notes(trace) == {}
