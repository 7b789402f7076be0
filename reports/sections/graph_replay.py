"""How much work is replayed from graphs."""

from ...mining.analyses.graph_replay import EVIDENCE
from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("graph_replay", "Graph replay", ask, "graph_replay", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        *([Column("graph", "Graph", "id")] if found.rows["graph"].null_count() < len(found.rows) else []),
        Column("evidence", "Known by"),
        Column("launches", "Launches", "count"),
        Column("operations", "Operations", "count"),
        Column("operations_per_launch", "Operations a launch", "ratio"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of device work", "share"),
        Column("p50_span_ns", "Median from first start to last end", "ns"),
        Column("p50_call_ns", "Median host call", "ns"),
    )
    known = "; ".join(f"{word}: {EVIDENCE[word]}" for word in EVIDENCE if word in set(found.rows["evidence"]))
    return (table("Work replayed from graphs, the most time first", columns, found), Text(f"Known by {known}."))
