"""Managed memory in public traces, against what their own files say."""

import csv
import gzip
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Table
from tracelode.store import Archive, NotCollected, Trace
from tracelode.store.parts import load

pytestmark = pytest.mark.corpus

NSYS = "nsys-sqlite/uvm-rtx3060/report1.sqlite"
CFD = "nvprof-csv/rodinia-cfd-uvm/print-gpu-trace.csv.gz"
STREAM = "nvprof-txt/babelstream-uvm/print-gpu-trace.txt.gz"


def _opened(corpus: Path, folder: Path, name: str) -> tuple[Trace, Archive]:
    archive = Archive(folder / "archive")
    return read(corpus / name, archive)[0], archive


def test_moves_equal_the_truth_and_the_exports_own_table(corpus: Path, tmp_path: Path) -> None:
    trace, archive = _opened(corpus, tmp_path, NSYS)
    truth = json.loads((corpus / "TRUTH.json").read_text())[NSYS]
    rows = find(trace, archive, "uvm_moves").rows
    for kind in ("HtoD", "DtoH"):
        part = rows.filter(rows["kind"] == kind)
        assert part["moves"].sum() == truth["memcpy"][f"UVM_{kind}"]
        assert part["bytes"].sum() == truth["memcpy_bytes"][f"UVM_{kind}"]
    with sqlite3.connect(f"file:{corpus / NSYS}?mode=ro", uri=True) as database:
        theirs = database.execute(
            "select copyKind, migrationCause, count(*), sum(bytes), sum(end - start) from CUPTI_ACTIVITY_KIND_MEMCPY "
            "where copyKind in (11, 12) group by 1, 2 order by 1, 2"
        ).fetchall()
        kernel = database.execute("select start, end from CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
        moves = database.execute("select start, end from CUPTI_ACTIVITY_KIND_MEMCPY where copyKind = 11").fetchall()
    kinds, causes = {11: "HtoD", 12: "DtoH"}, {2: "coherence", 3: "prefetch"}
    ours = rows.select("kind", "cause", "moves", "bytes", "time_ns").sort("kind", "cause", descending=[True, False])
    assert ours.rows() == [(kinds[kind], causes[cause], *rest) for kind, cause, *rest in theirs]
    moments = {at for start, end in moves for at in range(start, end)}
    inside = {at for start, end in kernel for at in range(start, end)} & moments
    (device,) = find(trace, archive, "uvm_devices").rows.to_dicts()
    assert (device["stall_ns"], device["move_ns"], device["beside_ns"]) == (None, len(moments), len(inside))


def _printed(corpus: Path) -> list[dict[str, str]]:
    """The rows of nvprof's table: the lines before its header and that of units left out."""
    text = gzip.decompress((corpus / CFD).read_bytes()).decode()
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]


def test_faults_moves_and_stall_equal_what_nvprof_printed(corpus: Path, tmp_path: Path) -> None:
    trace, archive = _opened(corpus, tmp_path, CFD)
    truth = json.loads((corpus / "TRUTH.json").read_text())[CFD]["extra"]
    faults = {row["processor"]: row for row in find(trace, archive, "uvm_faults").rows.to_dicts()}
    assert faults["gpu"]["faults"] == truth["[Unified Memory GPU page faults]"]
    assert faults["cpu"]["faults"] == truth["[Unified Memory CPU page faults]"]
    (moved,) = find(trace, archive, "uvm_moves").rows.to_dicts()
    assert (moved["kind"], moved["moves"]) == ("HtoD", truth["[Unified Memory Memcpy HtoD]"])
    printed = _printed(corpus)

    def spans(chosen: Any) -> set[int]:
        """The microseconds that the rows cover whole; the starts are printed in such."""
        found: set[int] = set()
        for row in printed:
            if chosen(row):
                start, length = round(float(row["Start"]) * 1e6), float(row["Duration"]) * 1e3
                found |= set(range(start, start + round(length)))
        return found

    served = spans(lambda row: row["Name"] == "[Unified Memory GPU page faults]")
    busy = spans(lambda row: row["Name"].startswith("cuda_"))
    (device,) = find(trace, archive, "uvm_devices").rows.to_dicts()
    assert device["fault_ns"] == pytest.approx(1000 * len(served), rel=0.01)
    assert device["stall_ns"] == pytest.approx(1000 * len(served & busy), rel=0.01)
    assert device["service_ns"] == pytest.approx(
        sum(1e6 * float(row["Duration"]) for row in printed if "GPU page faults" in row["Name"]), rel=1e-6
    )


def test_a_run_that_recorded_nothing_of_managed_memory_says_so(corpus: Path, tmp_path: Path) -> None:
    trace, archive = _opened(corpus, tmp_path, STREAM)
    with pytest.raises(NotCollected, match="nothing of managed memory was recorded"):
        find(trace, archive, "uvm_moves")


@pytest.mark.parametrize("name", [NSYS, CFD, STREAM])
def test_the_report_is_written_and_its_sql_gives_its_numbers(corpus: Path, tmp_path: Path, name: str) -> None:
    trace, archive = _opened(corpus, tmp_path, name)
    report = load("topic", "uvm").build(trace, lambda analysis: find(trace, archive, analysis))
    there = archive.open(trace.id)
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                assert there.sql(block.sql).to_dicts() == block.rows, block.caption
    assert bool(report.sections) == (name != STREAM)
    load("format", "html").render(report)
