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
    unbound = "not known" in set(found.rows["bound"])
    columns = (
        Column("operators", "Operators, one after the other"),
        Column("module", "Module"),
        Column("chains", "Times", "count"),
        Column("time_ns", "Kernel time", "ns"),
        Column("share", "Share of time", "share"),
        Column("bytes", "Operands", "bytes"),
        *((Column("intensity", "FLOPs a byte", "ratio"),) if unbound else ()),
        Column("merged_bytes", "Handed on, twice", "bytes"),
        Column("saving_ns", "Its traffic", "ns"),
        Column("most_ns", "Saves at most", "ns"),
    )
    which = "with little arithmetic, whose bound is not known" if unbound else "bound by memory"
    return (table(f"Chains of operators {which}", known(columns, found), found),)
