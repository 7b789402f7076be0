"""Holds all forms of an Nsight Systems export against the SQLite one of the same recording."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.generator import Run, Workload, write_nsys
from tests.collect.nsys_exports import FORMS, tables_of
from tests.collect.reading import Tables, Told, read
from tests.samples import sample
from tracelode.collect.files import open_file, reader_of
from tracelode.collect.ingest import read as ingest
from tracelode.store import Archive

PROCESS = 1 << 48 | 4100 << 24
THREAD = PROCESS | 4107
PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}
OTHER_FORMS = [form for form in FORMS if form != "sqlite"]

RECORDING: Tables = {
    "StringIds": [
        {"id": number, "value": text}
        for number, text in {10: "void gemm<float>(T1 *)", 11: "gemm", 20: "cudaLaunchKernel_v7000", 23: "für"}.items()
    ],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        {"start": 90, "end": 95, "globalTid": THREAD, "correlationId": 5, "nameId": 20, "returnValue": 0}
    ],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        {**PLACE, "start": 100, "end": 150, "correlationId": 5, "demangledName": 10, "shortName": 11, "gridX": 64},
        {**PLACE, "start": 160, "end": 150, "correlationId": 6, "demangledName": 99, "shortName": 11, "gridX": None},
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        {**PLACE, "start": 200, "end": 210, "correlationId": 6, "bytes": 4096, "copyKind": 1, "srcKind": 1}
    ],
    "CUPTI_ACTIVITY_KIND_MEMSET": [{**PLACE, "start": 220, "end": 230, "correlationId": 7, "bytes": 64, "value": 255}],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [
        {**PLACE, "start": 240, "end": 250, "correlationId": 8, "syncType": 3, "streamId": 2**32 - 1}
    ],
    "NVTX_EVENTS_V2": [
        {"start": 1, "eventType": 75, "text": "lib", "globalTid": THREAD, "domainId": 2},
        {"start": 10, "end": 60, "eventType": 59, "globalTid": THREAD, "domainId": 2, "textId": 23},
        {"start": 20, "end": None, "eventType": 59, "globalTid": THREAD, "text": "open", "doubleValue": 0.5},
        {"start": 30, "end": 40, "eventType": 59, "globalTid": THREAD, "text": "deep", "uint64Value": 2**63 - 1},
    ],
    "OSRT_API": [{"start": 50, "end": 70, "globalTid": THREAD, "nameId": 23, "returnValue": -1}],
    "CUDA_GPU_MEMORY_USAGE_EVENTS": [
        {**PLACE, "start": 80, "address": 2**46, "bytes": 10, "memKind": 2, "memoryOperationType": 0, "name": "pool"}
    ],
    "SOMETHING_NEW": [{"start": 5, "nameId": 11, "what": "x"}],
    "SCHED_EVENTS": [{"start": 5, "cpu": 1}, {"start": 6, "cpu": 2}],
    "PROCESSES": [{"globalPid": PROCESS, "pid": 4100, "name": "python3"}],
    "ThreadNames": [{"globalTid": THREAD, "nameId": 23, "priority": 20}],
    "TARGET_INFO_GPU": [{"id": 0, "name": "NVIDIA H100", "smCount": 132, "computeMajor": 9, "computeMinor": 0}],
    "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1_700_000_000_000_000_000}],
    "ENUM_CUPTI_SYNC_TYPE": [{"id": 3, "name": "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"}],
    "META_DATA_EXPORT": [{"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"}],
    "DIAGNOSTIC_EVENT": [{"timestamp": 3, "severity": 2, "text": "not all events were kept"}],
}


@pytest.fixture
def told(tmp_path: Path) -> Callable[[str, Tables], Told]:
    """Writes tables in one form, and reads them as ingest does."""

    def told(form: str, tables: Tables) -> Told:
        folder = tmp_path / form
        folder.mkdir()
        reader, write = FORMS[form]
        return read(reader, write(folder, tables), folder)  # pyright: ignore[reportArgumentType] - a module that fits

    return told


def same(one: Told, other: Told) -> None:
    assert set(one.tables) == set(other.tables)
    for table, rows in one.tables.items():
        assert [_comparable(row) for row in other.tables[table]] == [_comparable(row) for row in rows]
    assert one.counts() == other.counts()
    assert one.facts.labels == other.facts.labels
    assert one.facts.base_unix_ns == other.facts.base_unix_ns


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    """The row with JSON as what it says: the order of keys is that of the columns, which a form may change."""
    return {name: json.loads(v) if name in ("args", "json") and v else v for name, v in row.items()}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_a_recording_gives_the_same_tables_in_every_form(form: str, told: Callable[..., Told]) -> None:
    one, other = told("sqlite", RECORDING), told(form, RECORDING)
    assert one["kernel"][0]["name"] == "void gemm<float>(T1 *)"
    assert {"kernel", "copy", "fill", "sync", "api", "range", "allocation", "other", "device"} <= set(one.tables)
    same(one, other)


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_a_generated_run_gives_the_same_tables_in_every_form(
    form: str, told: Callable[..., Told], tmp_path: Path
) -> None:
    write_nsys(Run(Workload(iterations=3, layers=1, warm_up=1, seed=3)), tmp_path / "run.sqlite")
    tables = tables_of(tmp_path / "run.sqlite")
    one, other = told("sqlite", tables), told(form, tables)
    assert len(one["kernel"]) > 20
    same(one, other)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_known_by_its_content_and_by_one_reader(form: str, tmp_path: Path) -> None:
    reader, write = FORMS[form]
    assert reader_of(open_file(write(tmp_path, RECORDING)))[1] is reader


def test_numbers_from_2_to_the_63_are_those_of_the_database(told: Callable[..., Told]) -> None:
    ranges = [{"start": 1, "end": 2, "eventType": 59, "globalTid": THREAD, "text": "a", "uint64Value": 2**63 + 5}]
    wrapped = [{**ranges[0], "uint64Value": 5 - 2**63}]
    lines = told("jsonlines", {**RECORDING, "NVTX_EVENTS_V2": ranges})
    same(told("sqlite", {**RECORDING, "NVTX_EVENTS_V2": wrapped}), lines)


NUMBERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, 7, 2**32 - 1, 2**62]))
TEXTS = st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4))
TIMES = st.one_of(st.none(), st.integers(0, 2**40), st.sampled_from([-1, 2**62, -(2**62)]))


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_of_any_values_give_the_same_tables_in_every_form(data: st.DataObject, tmp_path: Path) -> None:
    wanted = {
        "CUPTI_ACTIVITY_KIND_KERNEL": ("correlationId", "deviceId", "streamId", "globalPid", "demangledName", "gridX"),
        "CUPTI_ACTIVITY_KIND_RUNTIME": ("correlationId", "globalTid", "nameId", "returnValue"),
        "NVTX_EVENTS": ("eventType", "globalTid", "textId", "domainId", "rangeId", "int64Value"),
    }
    tables: Tables = {"StringIds": RECORDING["StringIds"]}
    for table, columns in wanted.items():
        row = st.fixed_dictionaries({"start": TIMES, "end": TIMES, **dict.fromkeys(columns, NUMBERS), "text": TEXTS})
        whole = {"start": 1, "end": 2, **dict.fromkeys(columns, 1), "text": "a"}  # a column that JSON Lines has too
        tables[table] = [whole, *data.draw(st.lists(row, min_size=1, max_size=4))]
    folder = Path(mkdtemp(dir=tmp_path))
    results: list[Told] = []
    for form, (reader, write) in FORMS.items():
        (folder / form).mkdir(parents=True)
        results.append(read(reader, write(folder / form, tables), folder / form))  # pyright: ignore[reportArgumentType] - a module that fits
    for other in results[1:]:
        same(results[0], other)


@pytest.mark.corpus
def test_real_exports_written_anew_give_the_same_facts(corpus: Path, told: Callable[..., Told]) -> None:
    tables = tables_of(corpus / "nsys-sqlite/fuser-h100-8gpu/report1.sqlite")
    one = told("sqlite", tables)
    for form in OTHER_FORMS:
        same(one, told(form, tables))


@pytest.mark.parametrize(
    ("change", "kind", "count", "example"),
    [
        ("alter table CUPTI_ACTIVITY_KIND_KERNEL rename to CUPTI_KERNEX", "unknown-work", 27, "CUPTI_KERNEX"),
        ("update CUPTI_ACTIVITY_KIND_MEMCPY set copyKind = 99 where rowid = 1", "unknown-direction", 1, "copyKind 99"),
    ],
)
def test_work_of_no_known_table_and_copies_of_no_known_direction_are_counted(
    tmp_path: Path, change: str, kind: str, count: int, example: str
) -> None:
    path = tmp_path / "report.sqlite"
    path.write_bytes(sample("nsys").read_bytes())
    with closing(sqlite3.connect(path)) as database:
        database.execute(change)
        database.commit()
    trace, _ = ingest(path, Archive(tmp_path / "archive"))
    assert [(note.kind, note.count, note.example) for note in trace.notes] == [(kind, count, example)]
