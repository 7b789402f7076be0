"""What the time, the launches, the copies and the memory belong to: modules, operators, phases, families, structure."""

from collections.abc import Mapping
from typing import Any

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.phases import phase_bars
from ..report import Block, Chart, Column, Section
from ..shown import Ask, Rows, section_of, table

__all__ = ["families", "modules", "operators", "phases", "structure"]

SHARE = Column("share", "Share of device work", "share")
COUNTS = (
    Column("launches", "Kernels", "count"),
    Column("copies", "Copies", "count"),
    Column("fills", "Fills", "count"),
    Column("work_ns", "Time", "ns"),
    SHARE,
)
BY_PHASE = (
    Column("forward_ns", "Forward", "ns"),
    Column("backward_ns", "Backward", "ns"),
    Column("optimizer_ns", "Optimizer", "ns"),
)
COPIED = Column("copied_bytes", "Copied", "bytes")
MEMORY = (
    Column("allocations", "Allocations", "count"),
    Column("allocated_bytes", "Allocated in sum", "bytes"),
    Column("peak_bytes", "At the peak", "bytes"),
)
TOLD = Column("told_by", "Told by")


def modules(trace: Trace, ask: Ask) -> Section:
    """By module or annotation."""
    return section_of(
        "workload_modules", "Modules and layers", ask, "by_module", lambda found: _modules(found, ask("by_module_kind"))
    )


def operators(trace: Trace, ask: Ask) -> Section:
    """By framework operator."""
    return section_of(
        "workload_operators", "Operators", ask, "by_operator", lambda found: _blocks(found, "operator", "Operator")
    )


def phases(trace: Trace, ask: Ask) -> Section:
    """By phase of a training step."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (Column("part", "Phase"), *COUNTS, COPIED, *_memory(found), TOLD)
        return (table("Device work by phase; the rows add up to all of it", columns, found),)

    return section_of("workload_phases", "Phases", ask, "by_phase", blocks)


def families(trace: Trace, ask: Ask) -> Section:
    """By family of kernels, direction of copies."""
    return section_of(
        "workload_families", "Kernel families", ask, "by_family", lambda found: _blocks(found, "family", "Family")
    )


def structure(trace: Trace, ask: Ask) -> Section:
    """By mined structure."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            Column("part", "Block or operation"),
            Column("kind", "What it is"),
            Column("places", "Places", "count"),
            Column("passes", "Passes", "count"),
            Column("time_ns", "Busy time", "ns"),
            Column("share", "Share of busy time", "share"),
        )
        rows = [_all(row) | {"name": row["part"], "work_ns": row["time_ns"]} for row in found.rows.to_dicts()]
        shows = "Busy time of the repeated blocks and of the operations outside them."
        drawn = _drawn("Busy time by mined structure", rows, shows, found)
        return (*drawn, table("Mined structure; the rows add up to the busy time", columns, found))

    return section_of("workload_structure", "Mined structure, for want of operators", ask, "by_structure", blocks)


def _modules(found: Finding, kinds: Finding) -> tuple[Block, ...]:
    names = found.rows["module"]
    columns = (
        Column("module", "Module"),
        *COUNTS,
        Column("inclusive_ns", "With what is in it", "ns"),
        *_phases(found),
        COPIED,
        *_memory(found),
        TOLD,
        *((Column("part", "Path"),) if names.n_unique() < len(names) else ()),
    )
    rows = [row | {"name": row["part"]} for row in kinds.rows.to_dicts()]
    shows = "Device work launched in modules of each kind and in none of those in them, by phase where that is known."
    return (
        *_drawn("Device work by kind of module", rows, shows, kinds),
        table("Modules; their own times and the unattributed add up to all device work", columns, found),
    )


def _blocks(found: Finding, what: str, title: str) -> tuple[Block, ...]:
    columns = (Column("part", title), *COUNTS, *_phases(found), COPIED, *_memory(found), TOLD)
    rows = [row | {"name": row["part"]} for row in found.rows.to_dicts()]
    shows = f"Device work by {what}, and by phase where that is known."
    return (
        *_drawn(f"Device work by {what}", rows, shows, found),
        table(f"Device work by {what}; the rows add up to all of it", columns, found),
    )


def _drawn(title: str, rows: Rows, shows: str, found: Finding) -> tuple[Chart, ...]:
    if not any(row["work_ns"] for row in rows):
        return ()
    return (Chart(title, phase_bars([_all(row) for row in rows]), shows, found.sql),)


def _all(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with all phases; what none of them has is another's."""
    found = dict(row)
    for phase in ("forward", "backward", "optimizer"):
        found.setdefault(f"{phase}_ns", 0)
    found.setdefault("other_ns", found.get("work_ns", found.get("time_ns", 0)))
    return found


def _memory(found: Finding) -> tuple[Column, ...]:
    """The columns on memory, where allocations were recorded."""
    return MEMORY if found.rows["allocations"].null_count() < len(found.rows) else ()


def _phases(found: Finding) -> tuple[Column, ...]:
    known = any(found.rows[column.key].sum() for column in BY_PHASE)
    return BY_PHASE if known else ()
