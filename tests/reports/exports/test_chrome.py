import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.collect.ingest import look, read_in
from tracelode.reports.exports.chrome import write
from tracelode.store import Archive, Trace

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
BACK = ("kernel", "copy", "fill", "sync", "api", "op", "range", "flow", "collective", "track", "process", "device")


def again(trace: Trace, folder: Path, name: str = "again.json") -> Trace:
    """The trace, written and read."""
    write(trace, folder / name, ())
    return read_in(look(str(folder / name)), Archive(folder / "read-again"))[0]


def rows_of(trace: Trace, table: str) -> list[dict[str, Any]]:
    """The rows of a table in an order of their own, `args` as what their JSON means."""
    rows = trace.sql(f"select * exclude (trace_id) from {table}").to_dicts()
    for row in rows:
        row["args"] = json.loads(row["args"]) if row.get("args") else None
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def test_a_profile_of_pytorch_comes_back_row_by_row(tmp_path: Path) -> None:
    trace = read_in(look(str(SAMPLES / "train.json.gz")), Archive(tmp_path / "archive"))[0]
    read = again(trace, tmp_path, "again.json.gz")
    assert read.notes == ()
    for table in BACK:
        assert rows_of(read, table) == rows_of(trace, table), table
    assert read.facts == trace.facts


def test_waits_of_no_device_are_written_and_come_back(tmp_path: Path) -> None:
    path = SAMPLES / "formats" / "nvprof" / "small.nvprof"
    trace = read_in(look(str(path)), Archive(tmp_path / "archive"))[0]
    assert trace.sql("select count(*) from sync where device is null").item() > 0
    read = again(trace, tmp_path)
    json.loads((tmp_path / "again.json").read_text())
    assert read.notes == ()
    assert read.rows["sync"] == trace.rows["sync"]


def test_a_profile_of_nsight_systems_comes_back_with_its_work_and_calls(tmp_path: Path) -> None:
    trace = read_in(look(str(SAMPLES / "train.sqlite")), Archive(tmp_path / "archive"))[0]
    read = again(trace, tmp_path)
    assert read.notes == ()
    for table, own in (("kernel", []), ("copy", []), ("fill", ["value", "args"]), ("api", ["status", "args"])):
        left, right = (
            [{k: v for k, v in row.items() if k not in own} for row in rows_of(t, table)] for t in (read, trace)
        )
        assert left == right, table


def test_times_are_exact_to_the_nanosecond_also_before_zero(tmp_path: Path) -> None:
    times = [(-1_500, -1), (0, 1), (1_767_225_600_123_456_789, 1_767_225_600_123_456_790)]
    trace, _ = build(tmp_path, kernel=[{"start_ns": a, "end_ns": b, "name": "k", "context": 1} for a, b in times])
    write(trace, tmp_path / "a.json", ())
    events = json.loads((tmp_path / "a.json").read_text(), parse_float=str)["traceEvents"]
    assert [(e["ts"], e["dur"]) for e in events] == [
        ("-1.500", "1.499"),
        ("0.000", "0.001"),
        ("1767225600123456.789", "0.001"),
    ]


def test_an_event_whose_times_are_flawed_is_written_as_it_was_recorded(tmp_path: Path) -> None:
    args = '{"recorded_end_ns": 40, "note": "x"}'
    row = {"start_ns": 100, "end_ns": 100, "name": "k", "flaw": "negative duration", "args": args}
    trace, _ = build(tmp_path, kernel=[row])
    write(trace, tmp_path / "a.json", ())
    (event,) = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert (event["ts"], event["dur"]) == (0.1, -0.06)
    assert event["args"] == {"device": 0, "stream": 7, "note": "x"}


def test_arguments_that_are_called_like_a_place_stay_arguments_of_calls(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, api=[{"start_ns": 0, "end_ns": 1, "args": '{"pid": 9, "name": "x"}'}])
    write(trace, tmp_path / "a.json", ())
    (event,) = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert (event["pid"], event["name"], event["args"]) == (1, "cudaLaunchKernel", {"pid": 9, "name": "x"})


def test_names_of_any_kind_are_valid_json(tmp_path: Path) -> None:
    names = ['a"b\\c', "line\nfeed\x00\x1b", "</script>", "名前\u2028", ""]
    trace, _ = build(tmp_path, kernel=[{"start_ns": at, "end_ns": at + 1, "name": n} for at, n in enumerate(names)])
    write(trace, tmp_path / "a.json.gz", ())
    events = json.loads(gzip.decompress((tmp_path / "a.json.gz").read_bytes()))["traceEvents"]
    assert [e["name"] for e in events] == names


@pytest.mark.parametrize("tables", [("copy",), ("counter",)])
def test_only_the_tables_named_are_written(tmp_path: Path, tables: tuple[str, ...]) -> None:
    counter = {"process": 1, "name": "memory", "unit": "bytes", "time_ns": 1_000, "value": 2.5}
    times = {"start_ns": 0, "end_ns": 1}
    trace, _ = build(tmp_path, kernel=[times | {"name": "k"}], copy=[times | {"bytes": 8}], counter=[counter])
    write(trace, tmp_path / "a.json", tables)
    (event,) = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert event["ph"] == ("X" if tables == ("copy",) else "C")
    assert event["args"] == (
        {"device": 0, "stream": 7, "bytes": 8, "kind": "HtoD"} if tables == ("copy",) else {"bytes": 2.5}
    )
