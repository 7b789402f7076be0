"""Columns of which something is known: a table shows no column of which nothing was recorded."""

from ..mining.finding import Finding
from .report import Column, Section, Table
from .shown import Ask, section_of, table

__all__ = ["known", "known_section", "known_table"]


def known(columns: tuple[Column, ...], found: Finding) -> tuple[Column, ...]:
    """The columns that the finding has a value of."""
    there = set(found.rows.columns)
    return tuple(c for c in columns if c.key in there and found.rows[c.key].null_count() < len(found.rows))


def known_table(caption: str, columns: tuple[Column, ...], found: Finding) -> Table:
    """The finding's rows as a table of those of the columns that it has a value of."""
    return table(caption, known(columns, found), found)


def known_section(name: str, heading: str, ask: Ask, caption: str, columns: tuple[Column, ...]) -> Section:
    """The section on the finding of that name, whose rows it shows in one such table."""
    return section_of(name, heading, ask, name, lambda found: (known_table(caption, columns, found),))
