import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Told, damaged, read
from tests.samples import sample
from tracelode.collect.files import open_file
from tracelode.collect.readers import kfd_smi
from tracelode.store.errors import UnreadableFile

GPUS = [
    {"gpu_id": 0x1EA0, "node": 4, "name": "MI250X", "architecture": "gfx90a", "compute_units": 110}
    | {"clock_mhz": 1700, "memory_bytes": 64 << 30},
    {"gpu_id": 0xAD5C, "node": 5, "name": "", "compute_units": 0},
]
HEADER = {
    "tracelode": "kfd_smi",
    "version": 1,
    "page_bytes": 4096,
    "boottime_ns": 500,
    "unix_ns": 1_700_000_000_000_000_500,
}
HEADER |= {"host": "box", "release": "6.8.0", "driver": "6.16.6", "gpus": GPUS}  # fmt: skip


def header(**changed: Any) -> str:
    return f"# {json.dumps({**HEADER, **changed})}\n"


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(*lines: str, head: str | None = None) -> Told:
        path = tmp_path / "run.kfd"
        path.write_text((header() if head is None else head) + "".join(f"{line}\n" for line in lines))
        return read(kfd_smi, path, tmp_path)

    return tell


def test_a_fault_is_read_with_its_device_address_access_and_how_it_was_resolved(tell: Callable[..., Told]) -> None:
    told = tell("7 1000 -70 @10(1ea0) R", "7 1100 -70 @20(ad5c) W", "8 1300 -70 @10(1ea0) M", "8 1900 -70 @20(ad5c) U")
    # Page 0x10 = 16 is at 16 * 4096 = 65,536; 0x20 at twice that. Node 4 is the GPU 1ea0.
    shared = {"process": 70, "processor": "gpu", "pages": 1}
    assert told["fault"] == [
        {**shared, "device": 4, "start_ns": 1000, "end_ns": 1300, "address": 65_536, "kind": "read"}
        | {"args": '{"resolved": "migrated"}'},
        {**shared, "device": 5, "start_ns": 1100, "end_ns": 1900, "address": 131_072, "kind": "write"}
        | {"args": '{"resolved": "updated"}'},
    ]
    assert told.counts() == {}


def test_moves_have_direction_bytes_and_cause(tell: Callable[..., Told]) -> None:
    told = tell(
        "5 10 -70 @10(2) 0->1ea0 ffffffff:0 1",
        "6 14 -70 @10(2) 0->1ea0 1 0",
        "5 20 -70 @10(2) 1ea0->0 ffffffff:1ea0 2",
        "6 25 -70 @10(2) 1ea0->0 2",
        "5 30 -70 @10(100) 0->1ea0 1ea0:ad5c 0",
        "6 36 -70 @10(100) 0->1ea0 0 0",
        "5 40 -70 @10(1) 1ea0->ad5c 0:0 1",
        "6 47 -70 @10(1) 1ea0->ad5c 1 0",
        "5 50 -70 @10(3) 1ea0->0 0:0 3",
        "6 58 -70 @10(3) 1ea0->0 3 0",
    )
    rows = [(r["kind"], r["device"], r["start_ns"], r["end_ns"], r["bytes"], r["cause"]) for r in told["migration"]]
    assert rows == [  # pages of 4,096 bytes; 0x100 are 256 of them, 1 MiB
        ("UVM_HtoD", 4, 10, 14, 8_192, "coherence"),
        ("UVM_DtoH", 4, 20, 25, 8_192, "coherence"),
        ("UVM_HtoD", 4, 30, 36, 1_048_576, "user"),
        ("UVM_DtoD", 5, 40, 47, 4_096, "coherence"),
        ("UVM_DtoH", 4, 50, 58, 12_288, "eviction"),
    ]
    assert {r["address"] for r in told["migration"]} == {65_536}
    assert [json.loads(r["args"]) for r in told["migration"]] == [
        {"trigger": "PAGEFAULT_GPU"},
        {"trigger": "PAGEFAULT_CPU", "preferred_agent": 4},
        {"trigger": "PREFETCH", "prefetch_agent": 4, "preferred_agent": 5},
        {"trigger": "PAGEFAULT_GPU", "from_device": 4},
        {"trigger": "TTM_EVICTION"},
    ]


def test_the_size_of_a_page_is_that_of_the_machine(tell: Callable[..., Told]) -> None:
    lines = "5 10 -70 @10(2) 0->1ea0 0:0 1", "6 14 -70 @10(2) 0->1ea0 1 0"
    (row,) = tell(*lines, head=header(page_bytes=65536))["migration"]
    assert (row["address"], row["bytes"]) == (16 * 65_536, 2 * 65_536)
    (row,) = tell(*lines, head=header(page_bytes="large"))["migration"]
    assert (row["address"], row["bytes"]) == (16 * 4_096, 2 * 4_096)


def test_a_restored_queue_ends_every_eviction_and_one_that_is_put_off_ends_none(tell: Callable[..., Told]) -> None:
    lines = ("9 10 -70 1ea0 0", "9 12 -70 1ea0 2", "9 13 -70 ad5c 9", "a 15 -70 1ea0 R", "a 30 -70 1ea0 0")
    told = tell(*lines, "a 31 -70 ad5c \0")
    assert [(r["name"], r["device"], r["start_ns"], r["end_ns"]) for r in told["range"]] == [
        ("queues off: SVM", 4, 10, 30),
        ("queues off: TTM", 4, 12, 30),
        ("queues off: 9", 5, 13, 31),
    ]
    assert {(r["kind"], r["domain"]) for r in told["range"]} == {("queue_eviction", "KFD")}
    assert [r["kind"] for r in told["other"]] == ["queue restore"]


def test_a_move_that_failed_or_never_ended_is_no_move(tell: Callable[..., Told]) -> None:
    told = tell(
        "5 10 -70 @10(2) 0->1ea0 0:0 1",
        "6 14 -70 @10(2) 0->1ea0 1 -12",
        "5 20 -70 @30(2) 0->1ea0 0:0 1",
        "9 30 -70 1ea0 0",
        "7 40 -70 @30(1ea0) R",
        "6 50 -70 @90(2) 0->1ea0 1 0",
    )
    assert "migration" not in told.tables
    assert "range" not in told.tables
    kept = {(r["kind"], r["time_ns"]) for r in told["other"]}
    assert kept == {("migrate end", 50), ("failed move", 10), ("migrate start", 20), ("queue eviction", 30)}
    assert [(r["start_ns"], r.get("end_ns")) for r in told["fault"]] == [(40, None)]
    assert told.counts() == {"failed-move": 1, "without-begin": 1, "without-end": 2}
    assert told.notes["failed-move"].example == "error -12"


def test_dropped_events_are_noted_with_their_number(tell: Callable[..., Told]) -> None:
    told = tell("7 40 -70 @30(1ea0) R", "e 50 -70 5", "e 60 -70 7")
    assert told.counts() == {"lost-events": 12}


def test_devices_processes_and_the_clock_are_those_of_the_recorder(tell: Callable[..., Told]) -> None:
    told = tell("c 46 python3", "7 40 -70 @30(1ea0) R", "d 46 python3")
    assert told["process"] == [{"process": 70, "pid": 70, "name": "python3"}]
    assert told["device"] == [
        {"process": 70, "device": 4, "name": "MI250X", "vendor": "amd", "architecture": "gfx90a"}
        | {"compute_units": 110, "memory_bytes": 64 << 30, "clock_hz": 1_700_000_000, "args": '{"gpu_id": 7840}'},
        {"process": 70, "device": 5, "vendor": "amd", "args": '{"gpu_id": 44380}'},
    ]
    assert told.facts.base_unix_ns == 1_700_000_000_000_000_000
    assert (told.facts.host, told.facts.clock) == ("box", "boottime")
    assert told.facts.labels == {"driver": "6.16.6", "release": "6.8.0"}


def test_a_bare_stream_is_read_with_the_ids_of_the_driver(tell: Callable[..., Told]) -> None:
    told = tell("7 40 -70 @30(1ea0) R", "8 50 -70 @30(1ea0) M", head="")
    assert [(r["device"], r["address"]) for r in told["fault"]] == [(0x1EA0, 48 * 4096)]
    assert told["device"] == [{"process": 70, "device": 0x1EA0, "vendor": "amd"}]
    assert told.counts() == {"unknown-agent": 1}
    assert told.facts.base_unix_ns is None


def test_what_no_table_holds_is_kept_and_what_the_driver_does_not_write_is_counted(tell: Callable[..., Told]) -> None:
    told = tell("b 10 -70 @30(20) 1ea0 1", "1 46:python3", "", "hello", "7 40 -70 @30(1ea0) R")
    kept = {(r["kind"], r.get("time_ns")) for r in told["other"]}
    assert kept == {("unmap from gpu", 10), ("vm fault", None), ("line", None)}
    assert told.counts() == {"not-understood": 1}


def test_addresses_sizes_and_times_that_cannot_be_are_null_and_noted(tell: Callable[..., Told]) -> None:
    told = tell(
        "7 40 -70 @ffffffffffffffff(1ea0) R",
        "8 30 -70 @ffffffffffffffff(1ea0) M",
        "5 50 -70 @1(ffffffffffff) 0->1ea0 0:0 1",
        "6 60 -70 @1(ffffffffffff) 0->1ea0 1 0",
    )
    assert [(r["start_ns"], r.get("end_ns"), r.get("address")) for r in told["fault"]] == [(40, None, None)]
    assert [(r["address"], r.get("bytes")) for r in told["migration"]] == [(4096, None)]
    assert told.counts() == {"end-before-start": 1, "no-number": 2}


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        ("7 40 -70 @30(1ea0) R\n", True),
        ("2 0:1\n7 40 -70 @30(1ea0) R\n", True),
        ("2 0:1\n", False),
        ("7 40 -70 @30(1ea0) R", False),
        ("7 40 -70 @30(1ea0) R\nhello\n", False),
        ("hello\n7 40 -70 @30(1ea0) R\n", False),
        ('# {"tracelode": "kfd_smi", "version": 1}\n', True),
        ('# {"tracelode": "other", "version": 1}\n', False),
        ("\n\n", False),
    ],
)
def test_only_lines_of_the_driver_and_of_the_recorder_are_recognised(content: str, taken: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(content)
    assert kfd_smi.recognises(open_file(path)) is taken


def test_a_last_line_without_an_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.kfd"
    path.write_text(header() + "7 40 -70 @30(1ea0) R\n8 50 -70 @30(1ea0) M")
    told = read(kfd_smi, path, tmp_path)
    assert [r.get("end_ns") for r in told["fault"]] == [None]
    assert told.counts() == {"truncated": 1}


def test_a_damaged_first_line_costs_what_it_says_and_no_event(tmp_path: Path) -> None:
    path = tmp_path / "run.kfd"
    path.write_text('# {"tracelode": "kfd_smi", "gpus": [\n7 40 -70 @30(1ea0) R\n')
    told = read(kfd_smi, path, tmp_path)
    assert len(told["fault"]) == 1
    assert told.counts() == {"bad-header": 1, "unknown-agent": 1}


def test_damaged_files_give_the_same_events_a_note_or_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "run.kfd"
    whole = read(kfd_smi, sample("kfd_smi"), tmp_path)
    kept = 0
    path.write_bytes(sample("kfd_smi").read_bytes())
    for content in damaged(path, 60):
        path.write_bytes(content)
        if not kfd_smi.recognises(open_file(path)):
            continue
        try:
            told = read(kfd_smi, path, tmp_path)
        except UnreadableFile:
            continue
        kept += 1
        few = sum(len(told.tables.get(name, [])) for name in ("fault", "migration"))
        assert few <= sum(len(whole[name]) for name in ("fault", "migration"))
    assert kept > 40
