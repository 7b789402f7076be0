import csv
from pathlib import Path
from typing import Any

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.building import build
from tracelode.reports.exports.csv import write
from tracelode.reports.rows import csv_cell

NAMES = [*HOSTILE, *(text for text in INVISIBLE if text.isascii() or "\u2028" in text), "+1", "-2", "@x", "\tz", '"']


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_each_table_is_a_file_with_the_columns_of_its_view(tmp_path: Path) -> None:
    trace, _ = build(
        tmp_path, kernel=[{"start_ns": 5, "end_ns": 9, "name": "sgemm"}], fill=[{"start_ns": 1, "end_ns": 2}]
    )
    folder = tmp_path / "out"
    folder.mkdir()
    assert write(trace, folder, ()) == ()
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{table}.csv" for table in trace.files)
    head, row = rows(folder / "kernel.csv")
    told = dict(zip(head, row, strict=True))
    assert (told["duration_ns"], told["category"], told["process"], told["grid_x"]) == ("4", "gemm", "1", "")


def test_no_name_is_a_formula_and_none_breaks_a_line(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = [{"start_ns": at, "end_ns": at, "name": name} for at, name in enumerate(NAMES)]
    trace, _ = build(tmp_path, kernel=made)
    write(trace, tmp_path / "kernel.csv", ("kernel",))
    head, *found = rows(tmp_path / "kernel.csv")
    assert [row[head.index("name")] for row in found] == [csv_cell(name) for name in NAMES]
    assert {len(row) for row in found} == {len(head)}
