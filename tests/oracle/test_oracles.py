"""Readers against slow, obvious readers of the same formats: on the samples, and on the corpus where there is one."""

import csv
from pathlib import Path

import pytest

from tests.mutation.worker import places
from tests.oracle import accelprof
from tests.oracle.rows import difference, disagreement, of_trace, oracle_of
from tests.samples import FORMATS, SAMPLES, sample
from tracelode.collect.ingest import read
from tracelode.store import Archive

CHECKED = [format for format in FORMATS if oracle_of(format)]
CORPUS = {
    "kineto": "kineto", "nsys": "nsys-sqlite", "nvprof": "nvprof-sqlite", "rocpd": "rocpd", "rpd": "rpd",
    "rpd_json": "rpd-json", "rocprof_v1": "rocprof-v1", "rocprofv3_csv": "rocprofv3-csv",
    "nvprof_text": "nvprof-csv", "xplane": "xplane", "perfetto": "perfetto",
    "memory_snapshot": "memory-snapshot", "chakra": "chakra-et", "proton": "proton",
    "execution_trace": "execution-trace",
}  # fmt: skip
"""Formats of the corpus. Its Perfetto traces as text have none of the slices that the oracle knows."""

BENIGN = frozenset({"no-launch", "coarse-times", "overlap", "shared-launch", "no-record-function-id", "orphan-node"})
"""Notes that say what a file lacks or how it came to be, not that something in it was read otherwise than it stands."""

HOTNESS = SAMPLES / "accelprof" / "hotness_net_2026-02-01_12-00-00"
MOST_BYTES = 8_000_000  # larger files take an oracle minutes, and say nothing that smaller ones do not


@pytest.mark.parametrize("format", CHECKED)
def test_a_reader_says_of_its_sample_what_the_oracle_says(format: str, tmp_path: Path) -> None:
    trace, _ = read(sample(format), Archive(tmp_path / "archive"))
    oracle = oracle_of(format)
    assert oracle
    told = oracle(sample(format))
    assert any(told.values())
    assert difference(told, of_trace(trace)) is None


@pytest.mark.parametrize("trace", sorted({trace for trace, _ in places("accelprof")}), ids=lambda trace: trace.name)
def test_every_form_of_accelprofs_logs_is_read_as_the_oracle_reads_it(trace: Path, tmp_path: Path) -> None:
    found, _ = read(trace, Archive(tmp_path / "archive"))
    told = accelprof.read(trace)
    assert any(rows for name, rows in told.items() if name != "label")
    assert difference(told, of_trace(found)) is None


@pytest.mark.parametrize("member", sorted(HOTNESS.iterdir()), ids=lambda member: member.name)
def test_a_file_of_hot_analysis_alone_is_read_as_the_oracle_reads_it(member: Path, tmp_path: Path) -> None:
    found, _ = read(member, Archive(tmp_path / "archive"))
    told = accelprof.read(member)
    assert told["access"]
    assert difference(told, of_trace(found)) is None


@pytest.mark.corpus
@pytest.mark.parametrize("format", CORPUS)
def test_a_reader_says_of_real_files_what_the_oracle_says(format: str, corpus: Path, tmp_path: Path) -> None:
    archive, otherwise = Archive(tmp_path / "archive"), []
    with (corpus / "MANIFEST.csv").open(newline="") as file:
        paths = [
            corpus / row["path"]
            for row in csv.DictReader(file)
            if row["format"] == CORPUS[format] and int(row["uncompressed_bytes"] or row["bytes"]) < MOST_BYTES
        ]
    compared = 0
    for path in paths:
        trace, _ = read(path, archive)
        found = disagreement(format, path, trace, BENIGN)
        compared += found is not None
        otherwise += [f"{path.parent.name}/{path.name}: {found}"] if found else []
    assert otherwise == []
    assert compared
