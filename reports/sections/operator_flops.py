"""What the operators of the framework compute, and for how much of the time that is known."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..known import known
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("operator_flops", "Work of operators", ask, "operator_flops", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("kind", "Kind of operator"),
        Column("family", "Family"),
        Column("calls", "Calls", "count"),
        Column("kernels", "Kernels", "count"),
        Column("time_ns", "Kernel time", "ns"),
        Column("share", "Share of time", "share"),
        Column("gflop", "GFLOP", "ratio"),
        Column("flops_share", "Share of FLOPs", "share"),
        Column("tflops_per_s", "TFLOP/s", "ratio"),
        Column("bytes", "Operands", "bytes"),
        Column("without_flops", "Without FLOPs", "count"),
        Column("missing", "Why"),
    )
    return (table("Work by kind of operator, the most FLOPs first", known(columns, found), found),)
