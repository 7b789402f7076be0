"""How findings are shown: as a section with a sentence, as a table, as a chart for each process."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..mining.finding import Finding
from ..store.errors import NotCollected
from ..store.tables import TABLES, Kind
from .report import Block, Chart, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RECORD", "Ask", "Rows", "pictures", "section_of", "table"]

Ask = Callable[[str], Finding]
"""Answers with the finding of the analysis of that name, or raises `NotCollected`."""
Rows = Sequence[Mapping[str, Any]]

TABLE = re.compile(r"\btable (\w+) (?:was not collected|is not there)")
WORK = "work of a device (kernels, copies or fills)"
THINGS = {
    "kernel": "kernels",
    "copy": "memory copies",
    "fill": "memory fills",
    "api": "calls of the host to the runtime",
    "op": "operators of the framework",
    "range": "annotations of the program",
    "allocation": "allocations of memory",
}
"""The tables of events that sections need, as someone who records calls what is in them."""
RECORD = (
    "To see this, let the profiler record it too: the remarks on data quality at the head name the option, where this "
    "format has one."
)


def section_of(
    key: str, heading: str, ask: Ask, analysis: str, blocks: Callable[[Finding], tuple[Block, ...]]
) -> Section:
    """The section on one finding; without rows its sentence alone, without input what was not collected."""
    try:
        found = ask(analysis)
    except NotCollected as missing:
        return Section(key, heading, *_missed(missing))
    return Section(key, heading, found.sentence, blocks(found) if len(found.rows) else (), found.notes)


def _missed(missing: NotCollected) -> tuple[str, tuple[Block, ...], tuple[str, ...]]:
    """What was not collected and what to do about it, in the words of someone who records: they know no tables."""
    found = TABLE.search(missing.message)
    if not found:
        return f"Not collected: {missing.message}.", (), (f"To see this, {missing.hint}.",)
    name = found[1]
    what = THINGS.get(name, WORK if TABLES[name].kind == Kind.MINED else TABLES[name].meaning)
    return f"Not collected: {what}.", (), (RECORD,)


def table(caption: str, columns: tuple[Column, ...], found: Finding) -> Table:
    """The finding's rows; a process, device or stream that is the same in all of them is not shown."""
    single = {key for key in ("process", "device", "stream") if key in found.rows.columns and _is_one(found, key)}
    return Table(caption, tuple(c for c in columns if c.key not in single), found.rows.to_dicts(), found.sql)


def _is_one(found: Finding, key: str) -> bool:
    return found.rows[key].n_unique() <= 1


def pictures(
    found: Finding, title: str, draw: Callable[[Rows], Mapping[str, Any]], shows: str, most: int = 4
) -> list[Chart]:
    """A chart for each of the first processes; charts of more would say no more."""
    parts: list[pl.DataFrame] = found.rows.partition_by("process", maintain_order=True)[:most]
    many = not _is_one(found, "process")
    of = [f" of process {part['process'][0]}" if many else "" for part in parts]
    return [Chart(title + one, draw(part.to_dicts()), shows, found.sql) for one, part in zip(of, parts, strict=True)]
