"""What costs the devices time, in words, with what it rests on and what it could save."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]

SHOWN = 5
"""Findings told with their evidence; the others are in the list alone."""
ROWS = 10

TITLED = """
select *, upper(name[1]) || replace(name[2:], '_', ' ') as title
from (
%s
)
order by finding
"""
EVIDENCE = """
select finding, process, device, what, detail, count, time_ns, saves_ns, saves_per_iteration_ns, at_ns
from evidence
where finding = {finding}
order by number
limit {shown}
"""


def section(trace: Trace, ask: Ask) -> Section:
    """The section: a list of the findings, the greatest saving first, then the first of them with their evidence."""
    return section_of("findings", "Findings", ask, "findings", lambda found: tuple(_blocks(found, ask("evidence"))))


def _title(name: str) -> str:
    """The name of a diagnosis as it is read."""
    return name.replace("_", " ").capitalize()


def _blocks(found: Finding, evidence: Finding) -> Iterator[Block]:
    columns = (
        Column("title", "Finding"),
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("saves_ns", "Saves at most", "ns"),
        Column("saves_per_iteration_ns", "An iteration", "ns"),
        Column("share", "Share of the device's time", "share"),
    )
    import polars as pl

    titled = found.rows.with_columns(title=found.rows["name"].map_elements(_title, pl.String))
    yield table(
        "Findings, the greatest saving first", columns, replace(found, rows=titled, sql=(TITLED % found.sql).strip())
    )
    for row in found.rows.head(SHOWN).iter_rows(named=True):
        yield from _told(row, evidence)


def _told(row: Mapping[str, Any], evidence: Finding) -> Iterator[Block]:
    """One finding: its sentence, the rule of the bound and what to try, then the evidence."""
    title = _title(row["name"])
    yield Text(f"{row['finding'] + 1}. {title}. {row['sentence']} The bound is {row['bound']}. {row['advice']}")
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("what", "What"),
        Column("detail", "Detail"),
        Column("count", "Times", "count"),
        Column("time_ns", "Time", "ns"),
        Column("saves_ns", "Saves at most", "ns"),
        Column("saves_per_iteration_ns", "An iteration", "ns"),
    )
    sql = EVIDENCE.format(finding=row["finding"], shown=ROWS).strip()
    rows = evidence.rows.filter(evidence.rows["finding"] == row["finding"]).head(ROWS)
    empty = {column.key for column in columns if rows[column.key].is_null().all()}
    if not rows["saves_per_iteration_ns"].sum():  # warm-up is in no steady iteration
        empty.add("saves_per_iteration_ns")
    told = tuple(column for column in columns if column.key not in empty)
    yield table(f"{title}: what saves most", told, Finding("evidence", "", rows, sql))
