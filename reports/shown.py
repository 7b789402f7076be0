"""How findings are shown: as a section with a sentence, as a table, as a chart for each process."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..mining.finding import Finding
from ..store.errors import NotCollected
from .report import Block, Chart, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ask", "Rows", "pictures", "section_of", "table"]

Ask = Callable[[str], Finding]
"""Answers with the finding of the analysis of that name, or raises `NotCollected`."""
Rows = Sequence[Mapping[str, Any]]


def section_of(
    key: str, heading: str, ask: Ask, analysis: str, blocks: Callable[[Finding], tuple[Block, ...]]
) -> Section:
    """The section on one finding; without rows its sentence alone, without input what was not collected."""
    try:
        found = ask(analysis)
    except NotCollected as missing:
        return Section(key, heading, f"Not collected: {missing.message}.", (), (missing.hint,))
    return Section(key, heading, found.sentence, blocks(found) if len(found.rows) else (), found.notes)


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
