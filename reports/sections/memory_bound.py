"""Operators bound by memory that follow one another, and what merging them would save."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..known import known
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("memory_bound", "Operators to merge", ask, "memory_bound_layers", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("operators", "Operators, one after the other"),
        Column("module", "Module"),
        Column("chains", "Times", "count"),
        Column("time_ns", "Kernel time", "ns"),
        Column("share", "Share of time", "share"),
        Column("bytes", "Operands", "bytes"),
        Column("merged_bytes", "Handed on, twice", "bytes"),
        Column("saving_ns", "Its traffic", "ns"),
        Column("most_ns", "Saves at most", "ns"),
    )
    return (table("Chains of operators bound by memory", known(columns, found), found),)
