"""Every file of the corpus is claimed by the reader of its format, and by no other."""

import csv
from pathlib import Path

import pytest

from tracelode.collect.files import Reader, open_file
from tracelode.store import UnreadableFile
from tracelode.store.parts import load, names

pytestmark = pytest.mark.corpus

READERS = {
    "chakra-et": "chakra",
    "chrome-other": "kineto",
    "execution-trace": "execution_trace",
    "kineto": "kineto",
    "memory-snapshot": "memory_snapshot",
    "nsys-recipe-parquet": "nsys_recipe",
    "nsys-sqlite": "nsys",
    "nvprof-csv": "nvprof_text",
    "nvprof-sqlite": "nvprof",
    "nvprof-txt": "nvprof_text",
    "perfetto": "perfetto",
    "perfetto-textproto": "perfetto_text",
    "proton": "proton",
    "rocpd": "rocpd",
    "rocprof-v1": "rocprof_v1",
    "rocprofv3-csv": "rocprofv3_csv",
    "rocprofv3-json": "rocprofv3_json",
    "rpd": "rpd",
    "rpd-json": "rpd_json",
    "xplane": "xplane",
}
"""Formats of the manifest and the readers that take them."""


def claims(path: Path, readers: dict[str, Reader]) -> list[str]:
    """The readers that recognise the file."""
    try:
        file = open_file(path)
    except UnreadableFile:
        return []
    return [name for name, reader in readers.items() if reader.recognises(file)]


def test_each_file_is_claimed_by_the_reader_of_its_format_alone(corpus: Path) -> None:
    readers: dict[str, Reader] = {name: load("reader", name) for name in names("reader")}
    with (corpus / "MANIFEST.csv").open() as file:
        rows = list(csv.DictReader(file))
    wrong: list[str] = []
    checked = 0
    for row in rows:
        if row["format"] not in READERS or row["path"].startswith("malformed/"):
            continue
        found = claims(corpus / row["path"], readers)
        checked += 1
        if found != [READERS[row["format"]]]:
            wrong.append(f"{row['path']}: {', '.join(found) or 'nobody'}")
    assert checked >= 167
    assert wrong == []
