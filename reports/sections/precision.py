"""In which types of numbers operators compute."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..known import known
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("precision", "Precision", ask, "precision", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("type", "Type of operands"),
        *([Column("tf32", "Some as TF32")] if found.rows["tf32"].any() else []),
        Column("calls", "Calls", "count"),
        Column("time_ns", "Kernel time", "ns"),
        Column("share", "Share of time", "share"),
        Column("gflop", "GFLOP", "ratio"),
        Column("flops_share", "Share of FLOPs", "share"),
        Column("matrix_ns", "Of it in products of matrices", "ns"),
    )
    return (table("Kernel time and FLOPs by type, the most time first", known(columns, found), found),)
