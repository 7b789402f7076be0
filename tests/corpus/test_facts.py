"""Every file of the corpus against its ground truth, and the malformed ones against the rules for bad input."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect.ingest import read
from tracelode.store import Archive, UnreadableFile
from tracelode.store.facts import facts

pytestmark = pytest.mark.corpus

FORMATS = (
    *("kineto", "chrome-other", "nsys-sqlite", "nvprof-sqlite", "nvprof-csv", "nvprof-txt", "rocpd", "rpd", "rpd-json"),
    *("rocprof-v1", "rocprofv3-csv", "rocprofv3-json", "xplane", "perfetto"),
)

WHOLLY_READ = ("rocprof-v1", "rocprofv3-csv", "rocprofv3-json", "rpd-json")
"""Formats of which nothing is left over in the files of the corpus."""


HOST_COUNTED = {
    "rocpd/babeltrace-synthetic/test_rocm_database.db": {"devices": 1, "streams": 1},
    "rocprofv3-csv/sdk-docs/memory_copy_trace.csv": {"devices": 1, "streams": 1},
}
"""Where the truth counts the processor that a copy goes to as a device with a stream of its own. In both files the
copies go to and fro between a processor and one GPU, which does them all."""


@pytest.fixture
def manifest(corpus: Path) -> list[dict[str, str]]:
    with (corpus / "MANIFEST.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.timeout(600)
def test_facts_of_every_file_equal_the_truth(corpus: Path, manifest: list[dict[str, str]], tmp_path: Path) -> None:
    truth: dict[str, dict[str, Any]] = json.loads((corpus / "TRUTH.json").read_text())
    wrong: list[str] = []
    checked = 0
    for row in manifest:
        if row["format"] not in FORMATS:
            continue
        trace, _ = read(corpus / row["path"], Archive(tmp_path / str(checked)))
        checked += 1
        told = facts(trace)
        right = truth[row["path"]] | HOST_COUNTED.get(row["path"], {})
        stated = {key: value for key, value in right.items() if key in told and value is not None}
        wrong += [
            f"{row['path']}: {key} is {told[key]}, not {value}" for key, value in stated.items() if told[key] != value
        ]
        assert "kernels" in stated, row["path"]
        assert told.keys() <= truth[row["path"]].keys(), row["path"]
        if row["format"] in WHOLLY_READ:
            assert not trace.has("other"), row["path"]
    assert checked >= 139
    assert wrong == []


def test_malformed_files_are_refused_or_read_with_a_note(
    corpus: Path, manifest: list[dict[str, str]], tmp_path: Path
) -> None:
    checked = 0
    for row in manifest:
        if not row["path"].startswith("malformed/"):
            continue
        checked += 1
        try:
            trace, _ = read(corpus / row["path"], Archive(tmp_path / str(checked)))
        except UnreadableFile as error:
            assert row["path"].rsplit("/", 1)[1] in error.message
            assert error.hint
        else:
            assert trace.notes, row["path"]
    assert checked >= 5
