"""P62: the report on managed memory of AMD's GPUs, from what their kernel driver told of the small run.

Its pages are of 4,096 bytes. Three page faults of 800 ns, each during a kernel; moves to the device of 16, 256 (asked
for) and 16 pages, to the host of 16 (for the host's fault) and 32 (evicted): see data/generator/managed.py.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.samples import sample
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Report, Table, Text
from tracelode.store import Archive
from tracelode.store.parts import load

PAGE = 4096


def report_of(path: Path, folder: Path) -> Report:
    archive = Archive(folder)
    trace, _ = read(path, archive)
    return load("topic", "uvm").build(trace, lambda analysis: find(trace, archive, analysis))


@pytest.fixture(scope="module", params=["rocprofv3_json", "rocpd"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of a trace that has kernels as well."""
    return report_of(sample(request.param), tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of the driver's events alone."""
    return report_of(sample("kfd_smi"), tmp_path_factory.mktemp("archive"))


def section(report: Report, key: str) -> Any:
    return next(section for section in report.sections if section.key == key)


def rows(report: Report, key: str, *columns: str) -> list[tuple[Any, ...]]:
    table = next(block for block in section(report, key).blocks if isinstance(block, Table))
    return [tuple(row[column] for column in columns) for row in table.rows]


def words(report: Report) -> str:
    told = [report.verdict]
    for part in report.sections:
        told += [part.sentence, *part.notes, *(block.text for block in part.blocks if isinstance(block, Text))]
    return "\n".join(told)


def test_the_verdict_has_the_stall_and_the_moves(whole: Report) -> None:
    # 3 faults of 800 ns within kernels: 2,400 ns. To the device 16 + 256 + 16 = 288 pages = 1,179,648 bytes in
    # 500 + 8,000 + 500 ns; to the host 16 + 32 = 48 pages = 196,608 bytes in 400 + 700 ns.
    assert 288 * PAGE == 1_179_648
    assert 48 * PAGE == 196_608
    assert "Page faults hold kernels up for at most 2.4 µs" in whole.verdict
    assert "3 moves of 1.12 MiB to devices in 9 µs" in whole.verdict
    assert "2 moves of 192 KiB to the host in 1.1 µs" in whole.verdict


def test_moves_are_told_by_direction_and_cause(whole: Report) -> None:
    assert rows(whole, "uvm_moves", "kind", "cause", "moves", "bytes", "time_ns", "returned_bytes") == [
        ("HtoD", "user", 1, 256 * PAGE, 8000, 0),
        ("DtoH", "eviction", 1, 32 * PAGE, 700, 0),
        ("HtoD", "coherence", 2, 32 * PAGE, 1000, 0),
        ("DtoH", "coherence", 1, 16 * PAGE, 400, 16 * PAGE),  # what came to the device before
    ]


def test_faults_are_told_by_access(whole: Report) -> None:
    assert rows(whole, "uvm_faults", "processor", "access", "faults", "service_ns") == [
        ("gpu", "read", 2, 1600),
        ("gpu", "write", 1, 800),
    ]


def test_the_stall_of_each_device_counts_each_fault_once(whole: Report) -> None:
    assert rows(whole, "uvm_stall", "device", "stall_ns", "faults", "untimed_faults", "moves", "move_ns") == [
        (2, 2400, 3, 0, 2, 1000)
    ]


def test_advice_is_for_hip_alone_and_names_the_device_as_the_program_does(whole: Report, stream: Report) -> None:
    for report in (whole, stream):
        told = [block.text for block in section(report, "uvm_advice").blocks if isinstance(block, Text)]
        assert told
        assert all("HIP: " in text and "hipMem" in text and "CUDA" not in text for text in told)
        table = next(block for block in section(report, "uvm_advice").blocks if isinstance(block, Table))
        assert "cuda" not in [column.key for column in table.columns]
    # Node 2 is the only GPU: 0 to the program. The driver tells of no allocation, so the line is a template.
    lines = [row["hip"] for row in table.rows]
    within = "/* each allocation within 0x7f2a40000000 to 0x7f2a401fffff */"
    assert f"{within} hipMemPrefetchAsync(<allocation>, <its bytes>, 0, stream);" in lines
    assert not any("(p," in (line or "") for line in lines)


def test_hints_name_the_tools_of_amd(whole: Report, stream: Report) -> None:
    for report in (whole, stream):
        told = words(report)
        assert "rocprofv3 --kfd-trace" in told
        assert not any(name in told for name in ("nsys", "Nsight", "--uvm", "AccelProf"))


def test_what_amd_does_not_tell_is_not_collected_and_nowhere_zero(whole: Report) -> None:
    notes = " ".join(section(whole, "uvm_faults").notes)
    assert notes.startswith(
        "Not collected: page faults of the host. To see them, look at moves to the host of the cause"
    )
    lost = section(whole, "uvm_missing").notes
    assert any(note.startswith("Thrashing, throttling, remote maps: Not collected") for note in lost)
    assert "uvm_contention" not in [part.key for part in whole.sections]
    ranges = next(block for block in section(whole, "uvm_ranges").blocks if isinstance(block, Table))
    assert not {"cpu_faults", "thrashes", "throttles", "remote_maps"} & {column.key for column in ranges.columns}


def test_without_kernels_what_they_wait_is_not_collected_and_nowhere_zero(stream: Report) -> None:
    part = section(stream, "uvm_stall")
    assert part.sentence == (
        "How long kernels wait was not collected: the trace has no kernels; 3 fault groups of devices serviced in "
        "2.4 µs added up; 2 unasked moves to devices in 1 µs."
    )
    shown = next(block for block in part.blocks if isinstance(block, Table))
    assert not {"stall_ns", "kernel_ns", "beside_ns"} & {column.key for column in shown.columns}
    ranges = next(block for block in section(stream, "uvm_ranges").blocks if isinstance(block, Table))
    assert not {"stall_ns", "beside_ns"} & {column.key for column in ranges.columns}
    assert [block.text for block in part.blocks if isinstance(block, Text)] == ["Not collected: kernels."]


def test_the_simulated_tree_is_said_to_be_that_of_another_driver(whole: Report) -> None:
    notes = section(whole, "uvm_simulation").notes
    assert any(note.startswith("The driver's tree is that of NVIDIA's driver. AMD's has none") for note in notes)


def test_every_number_of_the_report_is_that_of_its_sql(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace, _ = read(sample("kfd_smi"), archive)
    report = load("topic", "uvm").build(trace, lambda analysis: find(trace, archive, analysis))
    tables = [block for part in report.sections for block in part.blocks if isinstance(block, Table)]
    assert len(tables) >= 6
    mined = archive.open(trace.id)
    assert all(list(table.rows) == mined.sql(table.sql).to_dicts() for table in tables)


def test_a_trace_of_amd_without_managed_memory_says_how_to_record_it(tmp_path: Path) -> None:
    report = report_of(sample("rocprofv3_csv"), tmp_path)
    assert report.verdict.startswith("Nothing of managed memory was recorded in this trace")
    assert "To see it, record with rocprofv3 --kfd-trace" in report.verdict
    assert "HSA_XNACK=1" in report.verdict


def test_sums_alone_are_told_as_sums(tmp_path: Path) -> None:
    report = report_of(sample("unified_memory"), tmp_path)
    # The same events as in the other samples: 3 faults; 288 pages to the device, 48 to the host.
    assert report.verdict == (
        "Only sums were recorded: 3 page faults; 3 moves of 1.12 MiB to devices in 9 µs; "
        "2 moves of 192 KiB to the host in 1.1 µs."
    )
    assert rows(report, "uvm_totals", "name", "count", "bytes")[:4] == [
        ("page faults", 3, None),
        ("HtoD", 3, 288 * PAGE),
        ("DtoH", 2, 48 * PAGE),
        ("DtoD", 0, 0),
    ]
    assert "Sums alone" in section(report, "uvm_totals").notes[0]
