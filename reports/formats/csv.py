"""CSV with the numbers exact: all tables of the report one below the other, or a file for each of them in a folder."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from io import StringIO
from typing import Any

from ..report import Check, Column, Report, Table
from ..rows import csv_cell
from ..units import plain

__all__ = ["SUFFIX", "files", "render"]

SUFFIX = ".csv"


def render(report: Report) -> str:
    """The tables one below the other: a line with the section and the caption, the titles, the rows, an empty line."""
    return "\n".join(
        _lines([[section, table.caption], *_rows(table, titles=True)]) for section, table in _tables(report)
    )


def files(report: Report) -> Mapping[str, str]:
    """Each table as the content of a file of its own, by the file's name; columns are called as in the JSON report."""
    named: dict[str, str] = {}
    for number, (section, table) in enumerate(_tables(report), 1):
        words = re.sub(r"[^a-z0-9]+", "-", f"{section} {table.caption}".lower()).strip("-")[:60].strip("-")
        named[f"{number:02}-{words}{SUFFIX}"] = _lines(_rows(table, titles=False))
    return named


def _tables(report: Report) -> Iterator[tuple[str, Table]]:
    if report.checks:
        columns = tuple(Column(field.name, field.name) for field in fields(Check))
        yield "checks", Table("Checks", columns, [asdict(check) for check in report.checks], "")
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                yield section.key, block


def _rows(table: Table, *, titles: bool) -> list[list[Any]]:
    """The heading and all rows, none left out. Numbers are in the unit of their column, which a title names."""
    units = {"ns": " (ns)", "bytes": " (bytes)"}
    head: list[Any] = [c.title + units.get(c.unit, "") if titles else c.key for c in table.columns]
    return [head, *([row.get(c.key) for c in table.columns] for row in table.rows)]


def _lines(rows: list[list[Any]]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_cell(plain(value)) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool) or value is None or value != value:
        return {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else ""
    return csv_cell(value if isinstance(value, str) else str(value)) if not isinstance(value, int | float) else value
