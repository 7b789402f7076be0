"""Columns of which something is known: a table shows no column of which nothing was recorded."""

from ..mining.finding import Finding
from .report import Column

__all__ = ["known"]


def known(columns: tuple[Column, ...], found: Finding) -> tuple[Column, ...]:
    """The columns that the finding has a value of."""
    there = set(found.rows.columns)
    return tuple(c for c in columns if c.key in there and found.rows[c.key].null_count() < len(found.rows))
