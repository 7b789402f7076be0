import gzip
import json
import random
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect.files import open_file
from tracelode.collect.readers import nsys, nvprof
from tracelode.collect.sink import Sink
from tracelode.store import stored
from tracelode.store.archive import Archive
from tracelode.store.errors import UnreadableFile
from tracelode.store.trace import Facts, Note

Row = dict[str, Any]
Tables = dict[str, list[Row]]
DECLARED = {int: "INT NOT NULL", str: "TEXT", bytes: "BLOB NOT NULL"}
EPOCH = 1_600_000_000_000_000_000
PID, THREAD = 4100, -1181487744
STRINGS = ["-- null --", "python train.py", "TITAN V", "gemm(float*)", "step", "worker"]
PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7}
KERNEL = {"start": EPOCH + 100, "end": EPOCH + 150, **PLACE, "correlationId": 5, "name": 3}
CALL = {
    "cbid": 211,
    "start": EPOCH + 90,
    "end": EPOCH + 95,
    "processId": PID,
    "threadId": THREAD,
    "correlationId": 5,
    "returnValue": 0,
}
OBJECT = {"objectKind": 2, "objectId": struct.pack("<IiI", PID, THREAD, 0)}


def write(path: Path, tables: Tables) -> Path:
    """Writes a database as nvprof lays it out; the columns of a table are those of its first row."""
    path.unlink(missing_ok=True)
    strings = [{"value": text} for text in STRINGS]
    named = {f"CUPTI_ACTIVITY_KIND_{kind}": rows for kind, rows in tables.items()}
    with closing(sqlite3.connect(path)) as database:
        for table, rows in {"StringTable": strings, "Version": [{"version": 12}], **named}.items():
            columns = ", ".join(f'"{name}" {DECLARED[type(value)]}' for name, value in rows[0].items())
            database.execute(f'create table "{table}" (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, {columns})')
            for at, row in enumerate(rows, start=0 if table == "StringTable" else 1):
                places = ", ".join("?" * (1 + len(row)))
                database.execute(f'insert into "{table}" values ({places})', [at, *row.values()])
        database.commit()
    return path


class Told:
    """What the reader made of a file: tables as rows without nulls, notes by kind, facts."""

    def __init__(self, tables: Tables, notes: dict[str, Note], facts: Facts) -> None:
        self.tables, self.notes, self.facts = tables, notes, facts

    def __getitem__(self, table: str) -> list[Row]:
        return [{name: value for name, value in row.items() if value is not None} for row in self.tables[table]]


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(source: Path | Tables) -> Told:
        path = source if isinstance(source, Path) else write(tmp_path / "profile.nvvp", source)
        file = open_file(path)
        assert nvprof.recognises(file) and not nsys.recognises(file)
        with Archive(tmp_path / "archive").stage() as staging:
            sink = Sink(staging)
            found = nvprof.read(file, sink)
            notes = {note.kind: note for note in sink.finish()}
            staging.finish()
            tables = {p.stem: stored.read(p).to_pylist() for p in staging.path.glob("*.parquet")}
        return Told(tables, notes, found)

    return tell


def test_a_kernel_is_read_with_its_launch_and_its_place(tell: Callable[..., Told]) -> None:
    shape = {**dict(zip(("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"), (64, 2, 1, 128, 1, 1), strict=True))}
    more = {"registersPerThread": 40, "staticSharedMemory": 1024, "dynamicSharedMemory": 512, "launchType": 1}
    rest = {"completed": EPOCH + 150, "gridId": 9, "cacheConfig": b"\x00", "localMemoryTotal": 77, "queued": 0}
    told = tell({"RUNTIME": [CALL], "CONCURRENT_KERNEL": [{**KERNEL, **shape, **more, **rest}]})
    (row,) = told["kernel"]
    assert json.loads(row.pop("args")) == {"localMemoryTotal": 77, "launchType": "cooperative_single_device"}
    assert row == {
        "process": PID,
        "device": 0,
        "context": 1,
        "stream": 7,
        "correlation": 5,
        "name": "gemm(float*)",
        "start_ns": EPOCH + 100,
        "end_ns": EPOCH + 150,
        "registers": 40,
        "shared_bytes": 1536,
        "grid_x": 64,
        "grid_y": 2,
        "grid_z": 1,
        "block_x": 128,
        "block_y": 1,
        "block_z": 1,
        "launch": 0,
        "launch_ns": EPOCH + 90,
        "launch_thread": THREAD,
    }
    assert told["api"] == [
        {
            "process": PID,
            "thread": THREAD,
            "start_ns": EPOCH + 90,
            "end_ns": EPOCH + 95,
            "status": 0,
            "name": "cudaLaunchKernel",
            "kind": "runtime",
            "correlation": 5,
        }
    ]
    assert (told.facts.base_unix_ns, told.facts.labels) == (0, {"database_version": "12"})


def test_calls_are_named_by_their_numbers_and_unknown_numbers_stay_visible(tell: Callable[..., Told]) -> None:
    driver = [{**CALL, "cbid": number, "correlationId": number} for number in (307, 276, 60_000)]
    told = tell({"RUNTIME": [{**CALL, "cbid": 13}], "DRIVER": driver})
    assert {(row["kind"], row["name"]) for row in told["api"]} == {
        *{("runtime", "cudaLaunch"), ("driver", "cuLaunchKernel")},
        *{("driver", "cuMemcpyHtoD_v2"), ("driver", "driver call 60000")},
    }


def test_copies_and_fills_say_direction_size_and_memory(tell: Callable[..., Told]) -> None:
    copy = {"copyKind": 1, "srcKind": 1, "dstKind": 3, "flags": 0, "bytes": 4096, **KERNEL}
    del copy["name"]
    peer = {**copy, "copyKind": 10, "srcKind": 3, "srcDeviceId": 0, "dstDeviceId": 2}
    fill = {"value": 255, "bytes": 64, "memoryKind": 5, "flags": 1, **PLACE, "start": 10, "end": 12, "correlationId": 6}
    told = tell({"RUNTIME": [CALL], "MEMCPY": [copy, {**copy, "copyKind": 99}], "MEMCPY2": [peer], "MEMSET": [fill]})
    assert [(row.get("kind"), row["bytes"], row["target_memory"], row.get("args")) for row in told["copy"]] == [
        ("HtoD", 4096, "device", None),
        (None, 4096, "device", '{"copyKind": 99}'),
        ("PtoP", 4096, "device", None),
    ]
    assert told["copy"][2]["peer_device"] == 2
    assert [(row["bytes"], row["value"], row["memory"]) for row in told["fill"]] == [(64, 255, "managed")]


def test_managed_memory_gives_faults_and_migrations_on_no_stream(tell: Callable[..., Told]) -> None:
    base = {
        "counterKind": 1,
        "value": 65536,
        "start": EPOCH,
        "end": EPOCH + 9,
        "address": 4096,
        "srcId": 2**32 - 1,
        "dstId": 0,
        "streamId": 0,
        "processId": PID,
        "flags": 2,
    }
    fault = {**base, "counterKind": 4, "value": 18, "srcId": 3, "dstId": 2**32 - 1}
    host = {**base, "counterKind": 3, "value": 94_000_000_000_000, "end": 0, "flags": 1}
    thrash = {**base, "counterKind": 5, "srcId": 0b101}
    throttle = {**base, "counterKind": 6, "srcId": 2, "value": 77}
    away = {**base, "counterKind": 2, "srcId": 1, "dstId": 2**32 - 1}
    mapped = {**base, "counterKind": 7, "srcId": 4}
    unknown = {**base, "counterKind": 77}
    told = tell({"UNIFIED_MEMORY_COUNTER": [base, fault, host, thrash, throttle, away, mapped, unknown]})
    span = {"process": PID, "start_ns": EPOCH, "address": 4096}
    assert sorted(told["migration"], key=lambda row: row["kind"]) == [
        {**span, "device": 1, "end_ns": EPOCH + 9, "kind": "UVM_DtoH", "bytes": 65536, "cause": "coherence"},
        {**span, "device": 0, "end_ns": EPOCH + 9, "kind": "UVM_HtoD", "bytes": 65536, "cause": "coherence"},
        {**span, "device": 0, "end_ns": EPOCH + 9, "kind": "remote_map", "bytes": 65536},
        {**span, "end_ns": EPOCH + 9, "kind": "thrash", "bytes": 65536},
        {**span, "device": 2, "end_ns": EPOCH + 9, "kind": "throttle"},
    ]
    assert sorted(told["fault"], key=lambda row: row["processor"]) == [
        {**span, "processor": "cpu", "pages": 1, "kind": "read", "args": '{"program_counter": 94000000000000}'},
        {**span, "device": 3, "end_ns": EPOCH + 9, "processor": "gpu", "pages": 18, "kind": "write"},
    ]
    assert json.loads(told["other"][0]["json"])["counterKind"] == 77


def test_markers_pair_by_id_and_overhead_and_sensors_are_kept(tell: Callable[..., Told]) -> None:
    marks = [
        {"flags": flags, "timestamp": EPOCH + time, "id": id, **OBJECT, "name": name, "domain": 0}
        for flags, time, id, name in ((2, 10, 1, 4), (1, 15, 2, 5), (4, 30, 1, 0), (2, 40, 3, 4), (4, 50, 9, 0))
    ]
    overhead = {"overheadKind": 1 << 16, **OBJECT, "start": EPOCH, "end": EPOCH + 4}
    power = struct.pack("<II", 61_000, 250_000)
    sensor = {"deviceId": 1, "timestamp": EPOCH + 7, "environmentKind": 3, "data": power}
    told = tell({"MARKER": marks, "OVERHEAD": [overhead], "ENVIRONMENT": [sensor]})
    assert [(r["kind"], r["name"], r["start_ns"] - EPOCH, r["end_ns"] - EPOCH, r["thread"]) for r in told["range"]] == [
        ("overhead", "CUPTI buffer flush", 0, 4, THREAD),
        ("nvtx", "step", 10, 30, THREAD),
        ("mark", "worker", 15, 15, THREAD),
        ("nvtx", "step", 40, 40, THREAD),
    ]
    assert {told.notes["no-end"].count, told.notes["lone-end"].count} == {1}
    assert [(r["name"], r["value"], r["unit"], r["device"]) for r in told["counter"]] == [
        ("power", 61_000.0, "mW", 1),
        ("power limit", 250_000.0, "mW", 1),
    ]


def test_identities_say_what_the_device_and_the_program_are(tell: Callable[..., Told]) -> None:
    device = {"globalMemoryBandwidth": 652_800_000, "coreClockRate": 1_455_000, "numMultiprocessors": 80, "id": 0}
    device |= {"computeCapabilityMajor": 7, "computeCapabilityMinor": 0, "uuid": b"\x01\xff", "name": 2}
    names = [{"objectKind": 1, "objectId": struct.pack("<I", PID) + b"\xff\xfe\x00\x01", "name": 1}]
    names += [{**OBJECT, "name": 5}]
    stream = {"contextId": 1, "streamId": 7, "priority": 0, "flag": 3, "correlationId": 1}
    told = tell({"CONCURRENT_KERNEL": [KERNEL], "DEVICE": [device], "NAME": names, "STREAM": [stream]})
    assert told["process"] == [{"process": PID, "pid": PID, "name": "python train.py"}]
    assert told["device"] == [
        {
            "process": PID,
            "device": 0,
            "name": "TITAN V",
            "vendor": "nvidia",
            "compute_units": 80,
            "memory_bandwidth": 652_800_000_000,
            "clock_hz": 1_455_000_000,
            "architecture": "7.0",
            "args": '{"uuid": "01ff"}',
        }
    ]
    assert [(row["track"], row["name"]) for row in told["track"]] == [(THREAD, "worker"), (7, "null stream 7")]


def test_kernels_without_a_time_are_left_out_and_other_tables_are_kept(tell: Callable[..., Told]) -> None:
    event = {"correlationId": 5, "contextId": 1, "streamId": 7, "eventId": 3}
    module = {"contextId": 1, "id": 4, "cubinSize": 3, "cubin": b"abc"}
    lost = {**KERNEL, "start": 0, "end": 0}
    told = tell({"CONCURRENT_KERNEL": [KERNEL, lost], "CUDA_EVENT": [event], "MODULE": [module]})
    assert len(told["kernel"]) == told.notes["no-time"].count == 1
    assert [(row["kind"], json.loads(row["json"])) for row in told["other"]] == [("CUDA_EVENT", event)]
    assert told.notes["unread-table"].example == "CUPTI_ACTIVITY_KIND_MODULE 1"


def test_tables_are_known_in_whatever_case_their_names_are(tell: Callable[..., Told]) -> None:
    told = tell({"rUNTIME": [CALL], "KERNEl": [KERNEL]})
    assert (len(told["api"]), len(told["kernel"])) == (1, 1)
    assert "other" not in told.tables


def test_a_name_that_is_text_stays_and_one_that_is_a_number_is_looked_up(tell: Callable[..., Told]) -> None:
    told = tell({"CUDA_EVENT": [{"eventId": 3, "name": "start"}], "PREEMPTION": [{"kind": 1, "name": 4}]})
    assert [json.loads(row["json"])["name"] for row in told["other"]] == ["start", "step"]


def test_device_work_of_several_processes_belongs_to_the_one_that_called(tell: Callable[..., Told]) -> None:
    calls = [CALL, {**CALL, "processId": 9, "correlationId": 6}]
    told = tell({"RUNTIME": calls, "KERNEL": [KERNEL, {**KERNEL, "correlationId": 6}]})
    assert sorted((row["process"], row["correlation"]) for row in told["kernel"]) == [(9, 6), (PID, 5)]


def test_damage_gives_an_error_or_a_note_and_never_anything_else(tmp_path: Path, tell: Callable[..., Told]) -> None:
    kernels = [{**KERNEL, "start": EPOCH + at, "end": EPOCH + at + 5, "correlationId": at} for at in range(300)]
    path = write(tmp_path / "whole.nvvp", {"RUNTIME": [CALL], "CONCURRENT_KERNEL": kernels})
    whole = path.read_bytes()
    draw = random.Random(7)
    broken = [whole[:size] for size in (101, 4096, 4097, 10_000, len(whole) - 1)]
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(8):
            data[draw.randrange(100, len(data))] = draw.randrange(256)
        broken.append(bytes(data))
    damaged = tmp_path / "damaged.nvvp"
    outcomes: set[str] = set()
    for data in broken:
        damaged.write_bytes(data)
        file = open_file(damaged)
        try:
            if not nvprof.recognises(file):
                continue
            with Archive(tmp_path / "archive").stage() as staging:
                sink = Sink(staging)
                nvprof.read(file, sink)
                sink.finish()
            outcomes.add("read")
        except UnreadableFile as error:
            assert str(damaged) in error.message and error.hint
            outcomes.add("refused")
    assert "refused" in outcomes
    assert len(tell(path)["kernel"]) == 300


def test_a_compressed_database_gives_the_same(tmp_path: Path, tell: Callable[..., Told]) -> None:
    plain = write(tmp_path / "plain.nvvp", {"RUNTIME": [CALL], "KERNEL": [KERNEL]})
    packed = tmp_path / "packed.nvvp.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert tell(packed).tables == tell(plain).tables
